/** COPY, MOVE, EXPUNGE, UID EXPUNGE and CLOSE (RFC 3501 §6.4, RFC 6851, RFC 4315). */
import { type CopyResult, type ExpungeResult, MESSAGES_PER_CHANGE } from '../account-api.ts';
import { type Command, textOf } from '../command.ts';
import { type Answer, no, ok, type SelectedContext, SYNTAX } from '../context.ts';
import { decodeName } from '../mailbox-name.ts';
import { toSequenceText } from '../sequence-set.ts';
import { findMessages, inChunks, isUidCommand } from './message-set.ts';

export async function copyMessages(context: SelectedContext, command: Command): Promise<Answer> {
  const isMove = command.name.endsWith('MOVE');
  const found = findMessages(context, command.args[0], isUidCommand(command));
  const name = decodeName(textOf(command.args[1]) ?? '');
  if (!found || name === null || command.args.length !== 2) return SYNTAX;
  if (isMove && context.view.isReadOnly) return no('The mailbox is read-only', 'CANNOT');
  const target = await context.account.findFolder(name);
  if (!target) return no('No such mailbox', 'TRYCREATE');
  if (found.hasGone) return no('Some messages were deleted', 'EXPUNGEISSUED');
  if (isMove && target.folder_id === context.view.folder.folder_id) return no('Messages are in this mailbox', 'CANNOT');
  const pairs: [number, number][] = [];
  let uidValidity = 0;
  for (const rows of inChunks(found.rows, MESSAGES_PER_CHANGE)) {
    const result = await copyOnce(
      context,
      target.folder_id,
      rows.map(({ messageId }) => messageId),
      isMove,
    );
    uidValidity = result.uid_validity;
    pairs.push(...result.copied.map(([, from, to]): [number, number] => [from, to]));
  }
  const code = pairs.length > 0 ? `COPYUID ${uidValidity} ${toPairs(pairs)}` : undefined;
  if (!isMove) return ok('COPY completed', code);
  // The new UIDs come before the EXPUNGE lines (RFC 6851 §4.3).
  if (code) await context.wire.say(`* OK [${code}] Moved\r\n`);
  context.view.mirror.remove(pairs.map(([from]) => from));
  await context.wire.say(context.view.takeExpunged());
  return ok('MOVE completed');
}

async function copyOnce(
  context: SelectedContext,
  to: string,
  ids: readonly string[],
  isMove: boolean,
): Promise<CopyResult> {
  const { client, account, view } = context;
  const result = await client.json<CopyResult>('POST', '/v1/imap/copy', {
    json: { from_folder_id: view.folder.folder_id, to_folder_id: to, message_ids: ids, move: isMove },
  });
  account.forgetOverview();
  return result;
}

function toPairs(pairs: readonly (readonly [number, number])[]): string {
  const ascending = [...pairs].sort(([a], [b]) => a - b);
  return `${toSequenceText(ascending.map(([from]) => from))} ${toSequenceText(ascending.map(([, to]) => to))}`;
}

export async function expunge(context: SelectedContext, command: Command): Promise<Answer> {
  if (context.view.isReadOnly) return no('The mailbox is read-only', 'CANNOT');
  const isUid = isUidCommand(command);
  const found = isUid ? findMessages(context, command.args[0], true) : null;
  if (isUid ? !found || command.args.length !== 1 : command.args.length !== 0) return SYNTAX;
  const marked = found?.rows.filter(({ keywords }) => keywords.includes('$deleted')) ?? null;
  if (marked === null) await expungeOnce(context, null);
  else
    for (const rows of inChunks(marked, MESSAGES_PER_CHANGE))
      await expungeOnce(
        context,
        rows.map(({ messageId }) => messageId),
      );
  await context.wire.say(context.view.takeExpunged());
  return ok('EXPUNGE completed');
}

async function expungeOnce({ client, account, view }: SelectedContext, ids: readonly string[] | null): Promise<void> {
  const { gone } = await client.json<ExpungeResult>('POST', '/v1/imap/expunge', {
    json: { folder_id: view.folder.folder_id, message_ids: ids },
    isRepeatable: true,
  });
  view.mirror.remove(gone.map(([, uid]) => uid));
  account.forgetOverview();
}

/** CLOSE removes what is marked as deleted without telling it (RFC 3501 §6.4.2). UNSELECT leaves it. */
export async function closeMailbox(context: SelectedContext, command: Command): Promise<Answer> {
  const { session, view } = context;
  if (command.args.length > 0) return SYNTAX;
  const hasMarked = view.uids.some((uid) => view.mirror.find(uid)?.keywords.includes('$deleted'));
  if (command.name === 'CLOSE' && !view.isReadOnly && hasMarked) await expungeOnce(context, null);
  session.select(null);
  return ok(`${command.name} completed`);
}
