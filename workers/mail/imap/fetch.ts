/** `POST /v1/imap/fetch`: headers and trees of parts of many messages. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { ImapSource } from '../../../durable-objects/mail/contract/imap.ts';
import type { StoredPart } from '../../../durable-objects/mail/contract/stored-part.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { getBlob } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { type OpenedMessage, openBytes, openStored } from '../checks/opened-message.ts';
import { readPieces } from '../inbound/process/delivery.ts';
import { memoryBudget } from '../mime/memory-budget.ts';
import { readHeaders } from '../mime/mime-tree.ts';
import { readStructure } from '../mime/structure.ts';
import { composeDraft, streamDraft } from '../outbound/compose-draft.ts';
import { openOwnMailbox, USER_ROUTE } from '../routes/route.ts';
import { fetchAnswerSchema, fetchSchema } from './schemas.ts';

/** Messages read at a time. A Worker has six connections to other systems at once. */
const PARALLEL_MAX = 6;
/** First bytes that are read of a message whose header has an unknown length. */
const HEAD_BYTES = 64 * 1024;
/** What a message of unknown size takes of the memory budget. */
const OPENED_BYTES = 4 * 1024 * 1024;

/** A part in an answer. The header of an attached message is in it, so that its envelope needs no further request. */
type PartJson = Omit<StoredPart, 'parts' | 'message'> & {
  readonly parts?: readonly PartJson[];
  readonly message?: PartJson;
  readonly envelope_header?: string;
};

/** Reads a range of the raw bytes. @returns null if no location has them. */
type ReadRange = (offset: number, length: number) => Promise<Uint8Array | null>;

interface Wanted {
  readonly header: boolean;
  readonly structure: boolean;
}

export function addImapFetch(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/imap/fetch',
      operationId: 'fetchImapMessages',
      summary: 'Read headers and trees of parts of messages',
      request: jsonBody(fetchSchema),
      responses: { 200: jsonContent(fetchAnswerSchema, 'The messages'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { message_ids, want } = c.req.valid('json');
      const sources = await own.value.ask((mailbox) => mailbox.readImapSources(message_ids));
      if (!sources.ok) return sendProblem(c, sources.error);
      const wanted = { header: want.includes('header'), structure: want.includes('structure') };
      const found = await readAll(c.env, own.value.user.userId, sources.value, wanted);
      const known = new Set(found.map(({ message_id }) => message_id));
      return c.json({ messages: found, missing: message_ids.filter((id) => !known.has(id)) }, 200);
    },
  );
}

interface Fetched {
  readonly message_id: string;
  readonly header?: string;
  readonly structure?: Record<string, unknown>;
}

async function readAll(env: Env, userId: string, sources: readonly ImapSource[], wanted: Wanted): Promise<Fetched[]> {
  const found: (Fetched | null)[] = sources.map(() => null);
  const queue = sources.entries();
  const work = async () => {
    for (const [at, source] of queue) found[at] = await readOne(env, userId, source, wanted);
  };
  await Promise.all(Array.from({ length: PARALLEL_MAX }, work));
  return found.filter((each) => each !== null);
}

async function readOne(env: Env, userId: string, source: ImapSource, wanted: Wanted): Promise<Fetched | null> {
  const { rawKey, messageId } = source;
  if (rawKey === null) {
    const bytes = await readDraftBytes(env, userId, messageId);
    return bytes && toFetched(messageId, await readOpened(openBytes(bytes), wanted));
  }
  const read: ReadRange = async (offset, length) => {
    const stored = await getBlob(env, rawKey, { offset, length });
    return stored && new Uint8Array(await stored.arrayBuffer());
  };
  if (source.structure !== null) {
    const structure = JSON.parse(source.structure) as StoredPart;
    const header = wanted.header ? await read(0, structure.body) : undefined;
    if (header === null) return null;
    return toFetched(messageId, {
      header,
      structure: wanted.structure ? await addEnvelopes(structure, read) : undefined,
    });
  }
  if (!wanted.structure) {
    const head = await read(0, HEAD_BYTES);
    if (head === null) return null;
    const { bodyStart } = readHeaders(head);
    if (bodyStart < head.length || head.length < HEAD_BYTES)
      return toFetched(messageId, { header: head.subarray(0, bodyStart), structure: undefined });
  }
  return memoryBudget.use(OPENED_BYTES, async () => {
    const message = await openStored(env, rawKey);
    return message && toFetched(messageId, await readOpened(message, wanted));
  });
}

async function readDraftBytes(env: Env, userId: string, draftId: string): Promise<Uint8Array | null> {
  const draft = await openMailbox(env, userId).readDraft(draftId);
  return draft.ok ? readPieces(streamDraft(env, draft.value, await composeDraft(draft.value))) : null;
}

interface Read {
  readonly header: Uint8Array | undefined;
  readonly structure: PartJson | undefined;
}

async function readOpened(message: OpenedMessage, wanted: Wanted): Promise<Read> {
  const structure = await readStructure(message);
  const read: ReadRange = async (offset, length) => readPieces(await message.readPieces({ offset, length }));
  return {
    header: wanted.header ? message.bytes.subarray(0, structure.body) : undefined,
    structure: wanted.structure ? await addEnvelopes(structure, read) : undefined,
  };
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const toFetched = (message_id: string, { header, structure }: Read): Fetched => ({
  message_id,
  ...(header === undefined ? {} : { header: toBase64(header) }),
  ...(structure === undefined ? {} : { structure: structure as unknown as Record<string, unknown> }),
});

async function addEnvelopes(part: StoredPart, read: ReadRange): Promise<PartJson> {
  const { parts, message, ...known } = part;
  if (message) {
    const header = (await read(message.start, message.body - message.start)) ?? new Uint8Array();
    return { ...known, envelope_header: toBase64(header), message: await addEnvelopes(message, read) };
  }
  if (!parts) return known;
  const listed: PartJson[] = [];
  for (const each of parts) listed.push(await addEnvelopes(each, read));
  return { ...known, parts: listed };
}
