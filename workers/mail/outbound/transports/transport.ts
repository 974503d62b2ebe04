/** Interface of all transports: SMTP and Cloudflare Email Service. */
import type { AttemptOutcome } from '../../domain/recipient-state.ts';

export interface OutgoingMessage {
  /** Envelope sender; empty for the null sender. */
  readonly from: string;
  /** Address of the field From; empty if it has none. */
  readonly author: string;
  readonly to: readonly string[];
  /** Size in bytes of the message that `openBody` opens. */
  readonly sizeBytes: number;
  readonly isEightBit: boolean;
  /** Opens the outgoing bytes with signatures. Another attempt may call it again. */
  readonly openBody: () => Promise<ReadableStream<Uint8Array>>;
}

export interface Transport {
  /** Sends a message. @returns an outcome for each recipient, in order. Errors of the server are outcomes and are never thrown. */
  send(message: OutgoingMessage): Promise<readonly AttemptOutcome[]>;
  close(): Promise<void>;
}
