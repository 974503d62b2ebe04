/** STORE and UID STORE (RFC 3501 §6.4.6, RFC 7162 §3.1.3). */
import { type FlagResult, MESSAGES_PER_CHANGE } from '../account-api.ts';
import { type Argument, type Command, listOf, textOf, textsOf } from '../command.ts';
import { type Answer, no, ok, type SelectedContext, SYNTAX } from '../context.ts';
import type { Row } from '../folder-mirror.ts';
import { toKeyword } from '../mailbox-name.ts';
import { toSequenceText } from '../sequence-set.ts';
import { findMessages, inChunks, isUidCommand } from './message-set.ts';

interface FlagChange {
  readonly message_ids: readonly string[];
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly unchanged_since?: string;
}

/** Changes flags, and notes the new rows. @returns the messages that were not changed because of `unchanged_since`. */
export async function changeFlags(
  { client, account, view }: SelectedContext,
  change: FlagChange,
): Promise<readonly string[]> {
  const result = await client.json<FlagResult>('POST', '/v1/imap/flags', {
    json: { folder_id: view.folder.folder_id, ...change },
    isRepeatable: change.unchanged_since === undefined,
  });
  view.mirror.apply(result.messages);
  account.forgetOverview();
  return result.modified;
}

interface Store {
  readonly mode: 'add' | 'remove' | 'replace';
  readonly isSilent: boolean;
  readonly keywords: readonly string[];
  readonly unchangedSince: number | null;
}

export async function storeFlags(context: SelectedContext, command: Command): Promise<Answer> {
  const isUid = isUidCommand(command);
  const store = parseStore(command.args.slice(1));
  const found = findMessages(context, command.args[0], isUid);
  if (!store || !found) return SYNTAX;
  const { view, wire } = context;
  if (view.isReadOnly) return no('The mailbox is read-only', 'CANNOT');
  if (store.unchangedSince !== null) context.session.enableCondstore();
  const modified: number[] = [];
  for (const rows of inChunks(found.rows, MESSAGES_PER_CHANGE)) {
    const skipped = new Set(await changeFlags(context, toChange(store, rows)));
    for (const { uid, messageId } of rows) {
      const row = view.mirror.find(uid);
      if (skipped.has(messageId)) modified.push(isUid ? uid : view.sequenceOf(uid));
      else if (row) await wire.say(tellStored(context, store, row));
    }
  }
  if (modified.length > 0)
    return ok('Some messages were changed by another client', `MODIFIED ${toSequenceText(modified)}`);
  return found.hasGone ? no('Some messages were deleted', 'EXPUNGEISSUED') : ok('STORE completed');
}

/** A silent STORE tells only change numbers, if the client wants them (RFC 7162 §3.1.3). */
function tellStored({ session, view }: SelectedContext, { isSilent }: Store, row: Row): string {
  if (!isSilent) return view.tellFlags(row);
  view.noteTold(row);
  return session.hasCondstore ? `* ${view.sequenceOf(row.uid)} FETCH (UID ${row.uid} MODSEQ (${row.modseq}))\r\n` : '';
}

function parseStore(args: readonly Argument[]): Store | null {
  const modifier = listOf(args[0]);
  const unchangedSince = modifier ? Number(textOf(modifier[1])) : null;
  if (modifier && (textOf(modifier[0])?.toUpperCase() !== 'UNCHANGEDSINCE' || !Number.isSafeInteger(unchangedSince)))
    return null;
  const [name, ...given] = modifier ? args.slice(1) : args;
  const match = /^([+-]?)FLAGS(\.SILENT)?$/i.exec(textOf(name) ?? '');
  const flags = given.length === 1 ? textsOf(given[0]) : given.map((flag) => textOf(flag) ?? '');
  if (!match || !flags || given.length === 0) return null;
  return {
    mode: match[1] === '+' ? 'add' : match[1] === '-' ? 'remove' : 'replace',
    isSilent: match[2] !== undefined,
    keywords: [...new Set(flags.flatMap((flag) => toKeyword(flag) ?? []))],
    unchangedSince,
  };
}

function toChange({ mode, keywords, unchangedSince }: Store, rows: readonly Row[]): FlagChange {
  const former = new Set(rows.flatMap((row) => row.keywords));
  return {
    message_ids: rows.map(({ messageId }) => messageId),
    add: mode === 'remove' ? [] : keywords,
    remove: mode === 'remove' ? keywords : mode === 'add' ? [] : [...former].filter((each) => !keywords.includes(each)),
    ...(unchangedSince === null ? {} : { unchanged_since: String(unchangedSince) }),
  };
}
