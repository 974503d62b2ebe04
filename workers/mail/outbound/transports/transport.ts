/** Common interface of the transports. */
import type { AttemptOutcome } from '../domain/recipient-state.ts';

export interface OutgoingMessage {
  /** Empty for the null sender. */
  readonly from: string;
  readonly to: readonly string[];
  /** Size of what `openBody` returns. */
  readonly sizeBytes: number;
  readonly isEightBit: boolean;
  /** The outgoing bytes with signatures. May be called again for another attempt. */
  readonly openBody: () => Promise<ReadableStream<Uint8Array>>;
}

export interface Transport {
  /** @returns an outcome for each recipient, in order. Never throws on an error of the server. */
  send(message: OutgoingMessage): Promise<readonly AttemptOutcome[]>;
  close(): Promise<void>;
}
