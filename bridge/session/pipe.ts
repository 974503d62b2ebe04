/** The transport of a session. */

export interface Pipe {
  /** @returns the next bytes, or null after the peer has finished. */
  read(): Promise<Uint8Array | null>;
  /** Resolves when the peer has room for more. */
  write(bytes: Uint8Array): Promise<void>;
  /** Changes to TLS. Absent if STARTTLS is not offered. */
  startTls?(): Promise<void>;
  close(): Promise<void>;
}

export interface Peer {
  /** IP address of the client. */
  readonly address: string;
  /** Whether bytes are encrypted from the start. */
  readonly isTls: boolean;
}

/** Whether an address is of this machine. Only such peers may log in without TLS. */
export const isLoopback = (address: string): boolean =>
  /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(address) || address === '::1';
