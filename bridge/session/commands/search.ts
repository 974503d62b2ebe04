/** SEARCH and UID SEARCH. Rows decide flags, times, sizes and numbers; the server searches texts, one request per text. */
import { type FetchedMessage, MESSAGES_PER_FETCH } from '../account-api.ts';
import { readFields, readValue } from '../answers/header.ts';
import { type Command, textOf } from '../command.ts';
import { type Answer, no, ok, type SelectedContext, SYNTAX } from '../context.ts';
import type { Row } from '../folder-mirror.ts';
import { type Criterion, parseSearch, parseSentDay, type TextFilter } from '../search-program.ts';
import { inChunks, isUidCommand } from './message-set.ts';

type Found = ReadonlySet<number>;

export async function search(context: SelectedContext, command: Command): Promise<Answer> {
  const hasCharset = textOf(command.args[0])?.toUpperCase() === 'CHARSET';
  const charset = hasCharset ? (textOf(command.args[1])?.toUpperCase() ?? '') : 'UTF-8';
  if (!['UTF-8', 'US-ASCII'].includes(charset)) return no('Charset not supported', 'BADCHARSET (UTF-8 US-ASCII)');
  const program = parseSearch(hasCharset ? command.args.slice(2) : command.args);
  if (!program) return SYNTAX;
  if (program.hasModseq) context.session.enableCondstore();
  const { view, wire } = context;
  const all = new Set(view.uids.filter((uid) => view.mirror.find(uid)));
  const found = await evaluate(context, program.criterion, all);
  const uids = view.uids.filter((uid) => found.has(uid));
  const numbers = isUidCommand(command) ? uids : uids.map((uid) => view.sequenceOf(uid));
  const highest = program.hasModseq ? Math.max(0, ...uids.map((uid) => view.mirror.find(uid)?.modseq ?? 0)) : 0;
  await wire.say(
    `* SEARCH${numbers.map((number) => ` ${number}`).join('')}${highest > 0 ? ` (MODSEQ ${highest})` : ''}\r\n`,
  );
  return ok('SEARCH completed');
}

/** @returns which of the candidates match. The rows are asked first, so that texts are searched only if messages are left. */
async function evaluate(context: SelectedContext, criterion: Criterion, candidates: Found): Promise<Found> {
  if (candidates.size === 0) return candidates;
  switch (criterion.kind) {
    case 'all':
      return candidates;
    case 'none':
      return new Set();
    case 'and': {
      let left = candidates;
      for (const each of [...criterion.of].sort((a, b) => costOf(a) - costOf(b)))
        left = await evaluate(context, each, left);
      return left;
    }
    case 'or': {
      const found = new Set<number>();
      for (const each of criterion.of) for (const uid of await evaluate(context, each, candidates)) found.add(uid);
      return found;
    }
    case 'not': {
      const found = await evaluate(context, criterion.of, candidates);
      return new Set([...candidates].filter((uid) => !found.has(uid)));
    }
    case 'set': {
      const uids = new Set(context.view.select(criterion.set, criterion.isUid) ?? []);
      return new Set([...candidates].filter((uid) => uids.has(uid)));
    }
    case 'row':
      return selectRows(context, candidates, criterion.test);
    case 'sent':
      return selectSent(context, candidates, criterion.test);
    case 'text':
      return selectText(context, candidates, criterion.filter);
  }
}

function costOf(criterion: Criterion): number {
  switch (criterion.kind) {
    case 'text':
      return 2;
    case 'sent':
      return 3;
    case 'not':
      return costOf(criterion.of);
    case 'and':
    case 'or':
      return Math.max(0, ...criterion.of.map(costOf));
    default:
      return 0;
  }
}

function selectRows({ view }: SelectedContext, candidates: Found, test: (row: Row) => boolean): Found {
  return new Set(
    [...candidates].filter((uid) => {
      const row = view.mirror.find(uid);
      return row !== undefined && test(row);
    }),
  );
}

async function selectText({ client, view }: SelectedContext, candidates: Found, filter: TextFilter): Promise<Found> {
  const { message_ids: ids } = await client.json<{ message_ids: string[] }>('POST', '/v1/imap/search', {
    json: { folder_id: view.folder.folder_id, filter },
    isRepeatable: true,
  });
  const uids = ids.flatMap((id) => view.mirror.findByMessage(id)?.uid ?? []);
  return new Set(uids.filter((uid) => candidates.has(uid)));
}

async function selectSent(
  { client, view }: SelectedContext,
  candidates: Found,
  test: (dayMs: number) => boolean,
): Promise<Found> {
  const found = new Set<number>();
  const rows = [...candidates].flatMap((uid) => view.mirror.find(uid) ?? []);
  for (const chunk of inChunks(rows, MESSAGES_PER_FETCH)) {
    const { messages } = await client.json<{ messages: FetchedMessage[] }>('POST', '/v1/imap/fetch', {
      json: {
        folder_id: view.folder.folder_id,
        message_ids: chunk.map(({ messageId }) => messageId),
        want: ['header'],
      },
      isRepeatable: true,
    });
    for (const { message_id, header } of messages) {
      const fields = readFields(Buffer.from(header ?? '', 'base64').toString('latin1'));
      const row = view.mirror.findByMessage(message_id);
      const day = parseSentDay(readValue(fields, 'date')) ?? row?.receivedAtMs ?? 0;
      if (row && test(day)) found.add(row.uid);
    }
  }
  return found;
}
