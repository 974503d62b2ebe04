/**
 * FETCH and UID FETCH (RFC 3501 §6.4.5, RFC 7162 §3.1.4).
 *
 * Headers and structures come in one request per 170 messages. Bytes come by range: those of small sections a few messages ahead,
 * those of large ones as the client reads them.
 */
import type { FetchedMessage } from '../account-api.ts';
import { MESSAGES_PER_CHANGE, MESSAGES_PER_FETCH } from '../account-api.ts';
import { toBodyStructure } from '../answers/body-structure.ts';
import { toEnvelope } from '../answers/envelope.ts';
import { toDateTime } from '../answers/strings.ts';
import { type Argument, type Command, listOf, textOf } from '../command.ts';
import { type Answer, no, ok, type SelectedContext, SYNTAX } from '../context.ts';
import { type FetchItem, isMessageItem, parseFetchItems, type SectionItem } from '../fetch-items.ts';
import type { Row } from '../folder-mirror.ts';
import { toFlagList } from '../view.ts';
import { changeFlags } from './flags.ts';
import { findMessages, inChunks, isUidCommand } from './message-set.ts';
import { type OpenSection, openSections, writeSection } from './sections.ts';

/** Messages whose small sections are read ahead. */
const AHEAD = 6;

interface Request {
  readonly items: readonly FetchItem[];
  readonly wantsHeader: boolean;
  readonly wantsStructure: boolean;
  readonly sections: readonly SectionItem[];
}

export async function fetchMessages(context: SelectedContext, command: Command): Promise<Answer> {
  const isUid = isUidCommand(command);
  const items = parseFetchItems(command.args[1]);
  const since = parseChangedSince(command.args[2]);
  const found = findMessages(context, command.args[0], isUid);
  if (!items || since === null || !found) return SYNTAX;
  if (since !== undefined || items.some(({ kind }) => kind === 'MODSEQ')) context.session.enableCondstore();
  if (since !== undefined) items.push({ kind: 'MODSEQ' });
  if (isUid) items.unshift({ kind: 'UID' });
  const rows = since === undefined ? found.rows : found.rows.filter(({ modseq }) => modseq > since);
  const request = toRequest(items);
  const hasGone = items.some(isMessageItem)
    ? await tellWithBytes(context, rows, request)
    : await tellRows(context, rows, request);
  return (found.hasGone || hasGone) && !isUid
    ? no('Some messages were deleted', 'EXPUNGEISSUED')
    : ok('FETCH completed');
}

/** @returns undefined without the modifier, null if it is invalid. */
function parseChangedSince(argument: Argument | undefined): number | null | undefined {
  if (argument === undefined) return undefined;
  const list = listOf(argument);
  const value = Number(textOf(list?.[1]));
  return list?.length === 2 && textOf(list[0])?.toUpperCase() === 'CHANGEDSINCE' && Number.isSafeInteger(value)
    ? value
    : null;
}

function toRequest(given: readonly FetchItem[]): Request {
  // An item that is asked for twice is answered once.
  const items = [...new Map(given.map((item) => [JSON.stringify({ ...item, isPeek: true }), item])).values()];
  const sections = items.filter((item) => item.kind === 'section');
  const isHeader = ({ path, section }: SectionItem): boolean =>
    path.length === 0 && section !== null && section !== 'TEXT';
  return {
    items,
    sections,
    wantsHeader: items.some(({ kind }) => kind === 'ENVELOPE') || sections.some(isHeader),
    wantsStructure:
      items.some(({ kind }) => kind === 'BODY' || kind === 'BODYSTRUCTURE') ||
      sections.some((item) => !isHeader(item) && (item.path.length > 0 || item.section !== null)),
  };
}

/** Answers with what the rows have. @returns false: a row is never gone. */
async function tellRows(context: SelectedContext, rows: readonly Row[], { items }: Request): Promise<boolean> {
  for (const row of rows) {
    const parts = items.map((item) => toRowText(item, row));
    if (items.some(({ kind }) => kind === 'FLAGS')) context.view.noteTold(row);
    await context.wire.say(`* ${context.view.sequenceOf(row.uid)} FETCH (${parts.join(' ')})\r\n`);
  }
  return false;
}

function toRowText(item: FetchItem, row: Row): string {
  switch (item.kind) {
    case 'UID':
      return `UID ${row.uid}`;
    case 'FLAGS':
      return `FLAGS ${toFlagList(row)}`;
    case 'INTERNALDATE':
      return `INTERNALDATE ${toDateTime(row.receivedAtMs)}`;
    case 'RFC822.SIZE':
      return `RFC822.SIZE ${row.sizeBytes}`;
    case 'MODSEQ':
      return `MODSEQ (${row.modseq})`;
    default:
      return '';
  }
}

/** @returns whether some message was deleted meanwhile. */
async function tellWithBytes(context: SelectedContext, rows: readonly Row[], request: Request): Promise<boolean> {
  let hasGone = false;
  for (const chunk of inChunks(rows, MESSAGES_PER_FETCH)) {
    const seen = await markSeen(context, chunk, request);
    const fetched = await readMessages(context, chunk, request);
    const opened = new Map<number, Promise<OpenSection[] | null>>();
    for (const [at, row] of chunk.entries()) {
      for (const next of chunk.slice(at, at + AHEAD)) {
        if (opened.has(next.uid)) continue;
        const opening = openSections(context, next, fetched.get(next.messageId), request.sections);
        opening.catch(() => {});
        opened.set(next.uid, opening);
      }
      const sections = await opened.get(row.uid);
      opened.delete(row.uid);
      const message = fetched.get(row.messageId) ?? null;
      const isGone = !sections || ((request.wantsHeader || request.wantsStructure) && !message);
      if (isGone) hasGone = true;
      else
        await tellMessage(
          context,
          { row: seen.get(row.uid) ?? row, message, sections, isMarked: seen.has(row.uid) },
          request,
        );
    }
  }
  return hasGone;
}

/** Marks messages as read whose text is fetched without PEEK. @returns the rows that changed. */
async function markSeen(
  context: SelectedContext,
  rows: readonly Row[],
  { sections }: Request,
): Promise<Map<number, Row>> {
  const unseen = rows.filter(({ keywords }) => !keywords.includes('$seen'));
  if (context.view.isReadOnly || unseen.length === 0 || sections.every(({ isPeek }) => isPeek)) return new Map();
  for (const chunk of inChunks(unseen, MESSAGES_PER_CHANGE))
    await changeFlags(context, { message_ids: chunk.map(({ messageId }) => messageId), add: ['$seen'], remove: [] });
  return new Map(
    unseen.flatMap(({ uid }) => {
      const row = context.view.mirror.find(uid);
      return row ? [[uid, row] as const] : [];
    }),
  );
}

async function readMessages(
  context: SelectedContext,
  rows: readonly Row[],
  request: Request,
): Promise<Map<string, FetchedMessage>> {
  const want = [...(request.wantsHeader ? ['header'] : []), ...(request.wantsStructure ? ['structure'] : [])];
  if (want.length === 0) return new Map();
  const { messages } = await context.client.json<{ messages: FetchedMessage[] }>('POST', '/v1/imap/fetch', {
    json: { folder_id: context.view.folder.folder_id, message_ids: rows.map(({ messageId }) => messageId), want },
    isRepeatable: true,
  });
  return new Map(messages.map((message) => [message.message_id, message]));
}

interface ReadyMessage {
  readonly row: Row;
  readonly message: FetchedMessage | null;
  readonly sections: readonly OpenSection[];
  readonly isMarked: boolean;
}

async function tellMessage(context: SelectedContext, ready: ReadyMessage, { items }: Request): Promise<void> {
  const { wire, view } = context;
  const { row, message, sections } = ready;
  const header = message?.header === undefined ? '' : Buffer.from(message.header, 'base64').toString('latin1');
  const hasFlags = items.some(({ kind }) => kind === 'FLAGS');
  if (hasFlags || ready.isMarked) view.noteTold(row);
  await wire.say(`* ${view.sequenceOf(row.uid)} FETCH (`);
  let isFirst = true;
  for (const item of ready.isMarked && !hasFlags ? [{ kind: 'FLAGS' } as const, ...items] : items) {
    if (!isFirst) await wire.say(' ');
    isFirst = false;
    const section = item.kind === 'section' ? sections.find((each) => each.item === item) : undefined;
    if (section) await writeSection(wire, section);
    else if (item.kind === 'ENVELOPE') await wire.say(`ENVELOPE ${toEnvelope(header)}`);
    else if (message?.structure && (item.kind === 'BODY' || item.kind === 'BODYSTRUCTURE'))
      await wire.say(`${item.kind} ${toBodyStructure(message.structure, item.kind === 'BODYSTRUCTURE')}`);
    else await wire.say(toRowText(item, row));
  }
  await wire.say(')\r\n');
}
