/** What every way out has in common. */
import type { AttemptOutcome } from '../domain/recipient-state.ts';

export interface OutgoingMessage {
  /** Empty for the null sender. */
  readonly from: string;
  readonly to: readonly string[];
  /** Of what `openBody` gives. */
  readonly sizeBytes: number;
  readonly isEightBit: boolean;
  /** The bytes as they go out, signatures included; may be called again for another attempt. */
  readonly openBody: () => Promise<ReadableStream<Uint8Array>>;
}

export interface Transport {
  /** @returns an outcome for each recipient, in order. Never throws for what a server does. */
  send(message: OutgoingMessage): Promise<readonly AttemptOutcome[]>;
  close(): Promise<void>;
}
