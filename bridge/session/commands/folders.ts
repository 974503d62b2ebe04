/** SELECT, EXAMINE, CREATE, DELETE, RENAME, SUBSCRIBE, UNSUBSCRIBE and NAMESPACE (RFC 3501 §6.3, RFC 2342). */

import { isInbox } from '../account.ts';
import type { Folder } from '../account-api.ts';
import type { RequestError } from '../client.ts';
import { type Argument, type Command, listOf, textOf } from '../command.ts';
import { type Answer, type Context, no, ok, SYNTAX } from '../context.ts';
import type { FolderMirror } from '../folder-mirror.ts';
import { decodeName, SYSTEM_FLAG_NAMES, toFlag } from '../mailbox-name.ts';
import { View } from '../view.ts';

export const readName = (argument: Argument | undefined): string | null => {
  const name = decodeName(textOf(argument) ?? '');
  return name === '' ? null : name;
};

export async function selectMailbox(context: Context, command: Command): Promise<Answer> {
  const { session, account } = context;
  const options = listOf(command.args[1])?.map((option) => textOf(option)?.toUpperCase()) ?? [];
  const name = readName(command.args[0]);
  if (name === null || command.args.length > 2 || options.some((option) => option !== 'CONDSTORE')) return SYNTAX;
  if (options.length > 0) session.enableCondstore();
  // A failed SELECT leaves no mailbox selected (RFC 3501 §6.3.1).
  session.select(null);
  const folder = await account.findFolder(name);
  if (!folder) return no('No such mailbox', 'NONEXISTENT');
  const mirror = account.hold(folder.folder_id);
  try {
    await mirror.sync();
  } catch (error) {
    account.release(mirror);
    account.drop(mirror);
    account.forgetFolders();
    throw error;
  }
  const isReadOnly = command.name === 'EXAMINE';
  const view = new View(folder, mirror, { isReadOnly, hasModseq: () => session.hasCondstore });
  session.select(view);
  await tellSelected(context, view, mirror);
  return ok(`${command.name} completed`, isReadOnly ? 'READ-ONLY' : 'READ-WRITE');
}

async function tellSelected({ wire }: Context, view: View, mirror: FolderMirror): Promise<void> {
  const keywords = mirror.listKeywords().map(toFlag);
  const labels = keywords.filter((flag) => !flag.startsWith('\\'));
  const unseen = view.uids.findIndex((uid) => !mirror.find(uid)?.keywords.includes('$seen'));
  const permanent = view.isReadOnly ? [] : [...SYSTEM_FLAG_NAMES, ...labels, '\\*'];
  const lines = [
    `FLAGS (${[...SYSTEM_FLAG_NAMES, ...labels].join(' ')})`,
    `OK [PERMANENTFLAGS (${permanent.join(' ')})] Flags`,
    `${view.count} EXISTS`,
    '0 RECENT',
    ...(unseen < 0 ? [] : [`OK [UNSEEN ${unseen + 1}] First unseen`]),
    `OK [UIDVALIDITY ${mirror.uidValidity}] UIDs valid`,
    `OK [UIDNEXT ${mirror.uidNext}] Predicted next UID`,
    `OK [HIGHESTMODSEQ ${Math.max(1, mirror.state)}] Highest`,
  ];
  await wire.say(lines.map((line) => `* ${line}\r\n`).join(''));
}

export async function createMailbox({ account, client }: Context, { args }: Command): Promise<Answer> {
  // A name may end in a delimiter, to say that more will be below it (RFC 3501 §6.3.3).
  const name = readName(args[0])?.replace(/\/$/, '');
  if (!name || args.length > 1) return SYNTAX;
  if (isInbox(name)) return no('INBOX exists', 'ALREADYEXISTS');
  await client.json('POST', '/v1/folders', { json: { name } });
  account.forgetFolders();
  return ok('CREATE completed');
}

export async function deleteMailbox(context: Context, { args }: Command): Promise<Answer> {
  const { account, client } = context;
  const folder = await findNamed(context, args);
  if (folder === undefined) return SYNTAX;
  if (folder === null) return no('No such mailbox', 'NONEXISTENT');
  if (folder.role !== null) return no('This mailbox cannot be deleted', 'CANNOT');
  // The server would delete those below it too, which a program does not mean (RFC 3501 §6.3.4).
  if (account.overview.folders.some(({ name }) => name.startsWith(`${folder.name}/`)))
    return no('There are mailboxes below this one', 'HASCHILDREN');
  if (context.session.view?.folder.folder_id === folder.folder_id) context.session.select(null);
  await client.json('DELETE', `/v1/folders/${folder.folder_id}`);
  account.forgetFolders();
  return ok('DELETE completed');
}

export async function renameMailbox(context: Context, { args }: Command): Promise<Answer> {
  const { account, client } = context;
  const folder = await findNamed(context, args.slice(0, 1));
  const name = readName(args[1]);
  if (folder === undefined || name === null || args.length !== 2) return SYNTAX;
  if (folder === null) return no('No such mailbox', 'NONEXISTENT');
  if (folder.role !== null) return no('This mailbox cannot be renamed', 'CANNOT');
  await client.json('PATCH', `/v1/folders/${folder.folder_id}`, { json: { name } });
  account.forgetFolders();
  return ok('RENAME completed');
}

export async function subscribe(context: Context, { name, args }: Command): Promise<Answer> {
  const { account, client } = context;
  const folder = await findNamed(context, args);
  if (folder === undefined) return SYNTAX;
  const isSubscribed = name === 'SUBSCRIBE';
  // Thunderbird renames a mailbox, and then ends the subscription of the old name. It shows a refusal to the person.
  if (folder === null) return isSubscribed ? no('No such mailbox', 'NONEXISTENT') : ok('UNSUBSCRIBE completed');
  if (folder.is_subscribed !== isSubscribed)
    await client.json('PATCH', `/v1/folders/${folder.folder_id}`, {
      json: { is_subscribed: isSubscribed },
      isRepeatable: true,
    });
  account.forgetFolders();
  return ok(`${name} completed`);
}

/** @returns undefined if the argument is invalid, null if no folder has the name. */
async function findNamed({ account }: Context, args: readonly Argument[]): Promise<Folder | null | undefined> {
  const name = readName(args[0]);
  return name === null || args.length !== 1 ? undefined : account.findFolder(name);
}

export async function tellNamespace({ wire }: Context): Promise<Answer> {
  await wire.say('* NAMESPACE (("" "/")) NIL NIL\r\n');
  return ok('NAMESPACE completed');
}

/** @returns the answer to a request that the server refused. */
export function toRefusal(error: RequestError): Answer {
  if (error.isTemporary) return no(error.message, 'UNAVAILABLE');
  const codes: Readonly<Record<number, string>> = {
    401: 'EXPIRED',
    403: 'NOPERM',
    404: 'NONEXISTENT',
    409: 'ALREADYEXISTS',
    413: 'TOOBIG',
  };
  const code = /quota|full/.test(error.code) ? 'OVERQUOTA' : (codes[error.status] ?? 'CANNOT');
  return no(error.message, code);
}
