/** Receives a raw message in the body of a request: within the account's limit, and never whole in memory if it is large. */
import type { Context } from 'hono';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { readLimited, readUpload } from '../../shared/json/limited-body.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, type Result } from '../../shared/pure/result.ts';
import { deleteBlobs, inLargePieces } from '../bindings/blobs.ts';
import { type OpenedMessage, openBytes, openStored } from '../checks/opened-message.ts';
import { storeRaw } from '../inbound/accept/store-raw.ts';
import { memoryBudget } from '../mime/memory-budget.ts';

/** Messages up to this size are held in memory, and stored once. A larger one is stored while it arrives. */
const HELD_BYTES_MAX = 1024 * 1024;

export interface Received {
  readonly message: OpenedMessage;
  /** R2 key of the bytes, if they were stored. */
  readonly storedKey: string | null;
}

/**
 * Receives a message and works with it. If it was stored, its bytes stay only if the work says so.
 * @param key R2 key of a message that is stored while it arrives.
 * @param bytesMax largest message that the account may send or keep.
 */
export async function receiveMessage<T>(
  c: Context<JsonApiEnv>,
  { key, bytesMax }: { readonly key: string; readonly bytesMax: number },
  work: (received: Received) => Promise<{ readonly outcome: Result<T, Problem>; readonly keepsBytes: boolean }>,
): Promise<Result<T, Problem>> {
  const type = (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'message/rfc822') return err(problem(415, 'unsupported_type', 'Send message/rfc822.'));
  const length = Number(c.req.header('content-length') ?? Number.NaN);
  if (!Number.isSafeInteger(length)) return err(problem(411, 'length_required', 'Send a Content-Length.'));
  if (length > bytesMax) return err(problem(413, 'too_large', `A message may have at most ${bytesMax} bytes.`));
  const body = c.req.raw.body as ReadableStream<Uint8Array> | null;
  if (length <= HELD_BYTES_MAX) {
    const held = await readLimited(readUpload(body), HELD_BYTES_MAX);
    if (held.length !== length) return err(problem(400, 'invalid_request', 'The body has another length.'));
    return (await work({ message: openBytes(held), storedKey: null })).outcome;
  }
  await storeRaw(c.env, key, readUpload(body && inLargePieces(body)), length);
  const done = await memoryBudget.use(length, async () => {
    const message = await openStored(c.env, key);
    if (!message) throw new Error('a message that was just stored is missing');
    return work({ message, storedKey: key });
  });
  if (!done.keepsBytes) await deleteBlobs(c.env, [key]);
  return done.outcome;
}
