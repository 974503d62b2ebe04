/** `Email/import` (RFC 8621 §4.8). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { readPieces } from '../../inbound/process/delivery.ts';
import { readHeaders } from '../../mime/mime-tree.ts';
import { openBlob } from '../objects/blobs.ts';
import { storeEmail } from '../objects/store-email.ts';
import { accountArguments, creationsSchema, idSchema, utcDateSchema } from '../protocol/arguments.ts';
import { OBJECTS_PER_SET_MAX } from '../protocol/limits.ts';
import {
  type Arguments,
  type Call,
  invalidArguments,
  method,
  type SetError,
  toMethodError,
} from '../protocol/method.ts';
import { invalidProperties, resolveId, SetOutcome } from '../protocol/standard.ts';

const importSchema = z.strictObject({
  blobId: idSchema,
  mailboxIds: z.record(z.string(), z.literal(true)),
  keywords: z.record(z.string(), z.literal(true)).nullish(),
  receivedAt: utcDateSchema.nullish(),
});
type Import = z.output<typeof importSchema>;

/** Number of first bytes that are read to test whether a blob begins with a header. */
const HEAD_BYTES = 64 * 1024;

export const emailImport = method({
  capability: 'mail',
  schema: z.strictObject({
    ...accountArguments,
    ifInState: z.string().nullable().default(null),
    emails: creationsSchema,
  }),
  run: async (call, args) => {
    const before = await call.ask((mailbox) => mailbox.readEmails([]));
    if (!before.ok) return err(toMethodError(before.error));
    if (args.ifInState !== null && args.ifInState !== before.value.state) return err({ type: 'stateMismatch' });
    if (Object.keys(args.emails).length > OBJECTS_PER_SET_MAX)
      return err(invalidArguments(`emails: at most ${OBJECTS_PER_SET_MAX} messages.`));
    const outcome = new SetOutcome();
    for (const [creationId, object] of Object.entries(args.emails)) {
      const made = await importOne(call, object);
      if (made.ok) {
        outcome.created[creationId] = made.value;
        call.created.set(creationId, String(made.value.id));
      } else outcome.notCreated[creationId] = made.error;
    }
    const after = await call.ask((mailbox) => mailbox.readEmails([]));
    if (!after.ok) return err(toMethodError(after.error));
    const { accountId, oldState, newState, created, notCreated } = outcome.toAnswer(call, {
      oldState: before.value.state,
      newState: after.value.state,
    });
    return ok({ accountId, oldState, newState, created, notCreated });
  },
});

async function importOne(call: Call, object: Arguments): Promise<Result<Arguments, SetError>> {
  const parsed = importSchema.safeParse(object);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return err(invalidProperties([String(issue?.path[0] ?? '')], issue?.message));
  }
  const email: Import = parsed.data;
  if (Object.keys(email.mailboxIds).length === 0) return err(invalidProperties(['mailboxIds']));
  const blob = await openBlob(call.env, call.user.userId, resolveId(call, email.blobId));
  if (!blob) return err(invalidProperties(['blobId'], 'Blob not found.'));
  const head = await readHead(await blob.read());
  if (readHeaders(head).headers.length === 0)
    return err({ type: 'invalidEmail', description: 'The blob does not begin with a header field.' });
  return storeEmail(call, {
    mailboxIds: Object.keys(email.mailboxIds),
    keywords: Object.keys(email.keywords ?? {}),
    receivedAt: email.receivedAt ? Date.parse(email.receivedAt) : (readReceivedTime(head) ?? call.now),
    sizeBytes: blob.sizeBytes,
    read: blob.read,
  });
}

async function readHead(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array> {
  const head: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const piece of pieces) {
    head.push(piece.subarray(0, HEAD_BYTES - sizeBytes));
    sizeBytes += piece.length;
    if (sizeBytes >= HEAD_BYTES) break;
  }
  return readPieces(head);
}

/** @returns the time of the newest Received field, which is the default of `receivedAt` (RFC 8621 §4.8). */
function readReceivedTime(head: Uint8Array): number | null {
  const received = readHeaders(head).headers.find(({ name }) => name === 'received')?.value ?? '';
  const time = Date.parse(
    received
      .slice(received.lastIndexOf(';') + 1)
      .replace(/\([^()]*\)/g, '')
      .trim(),
  );
  return Number.isFinite(time) && time >= 0 ? time : null;
}
