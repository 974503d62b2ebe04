/** LIST with its options, LSUB and STATUS (RFC 3501 §6.3, RFC 5258, RFC 5819, RFC 6154). */
import type { Folder, Overview, Role } from '../account-api.ts';
import { toImapString } from '../answers/strings.ts';
import { type Argument, type Command, listOf, textOf, textsOf } from '../command.ts';
import { type Answer, type Context, no, ok, SYNTAX } from '../context.ts';
import { decodeName, encodeName } from '../mailbox-name.ts';
import { readName } from './folders.ts';

const SPECIAL_USES: Readonly<Record<Role, string | null>> = {
  inbox: null,
  drafts: '\\Drafts',
  sent: '\\Sent',
  junk: '\\Junk',
  trash: '\\Trash',
  archive: '\\Archive',
};
const nameOf = ({ role, name }: Folder): string => (role === 'inbox' ? 'INBOX' : name);
const toWireName = (name: string): string => toImapString(encodeName(name));

interface ListRequest {
  readonly patterns: readonly RegExp[];
  readonly isSubscribedOnly: boolean;
  readonly isSpecialOnly: boolean;
  readonly showsSubscribed: boolean;
  readonly statusItems: readonly string[];
}

export async function listMailboxes(context: Context, command: Command): Promise<Answer> {
  const patterns = textsOf(command.args[listOf(command.args[0]) ? 2 : 1]);
  if (command.name === 'LIST' && patterns?.length === 1 && patterns[0] === '') {
    await context.wire.say('* LIST (\\Noselect) "/" ""\r\n');
    return ok('LIST completed');
  }
  const request = parseList(command);
  if (!request) return SYNTAX;
  const overview = await context.account.readOverview();
  for (const folder of overview.folders) {
    if (!request.patterns.some((pattern) => pattern.test(nameOf(folder)))) continue;
    if (request.isSubscribedOnly && !folder.is_subscribed) continue;
    if (request.isSpecialOnly && !specialUseOf(folder)) continue;
    const verb = command.name === 'LSUB' ? 'LSUB' : 'LIST';
    await context.wire.say(
      `* ${verb} (${attributesOf(folder, overview, request).join(' ')}) "/" ${toWireName(nameOf(folder))}\r\n`,
    );
    if (request.statusItems.length > 0) await context.wire.say(toStatus(overview, folder, request.statusItems));
  }
  return ok(`${command.name} completed`);
}

const specialUseOf = ({ role }: Folder): string | null => (role === null ? null : SPECIAL_USES[role]);

function attributesOf(folder: Folder, { folders }: Overview, { showsSubscribed }: ListRequest): string[] {
  const hasChildren = folders.some(({ name }) => name.startsWith(`${nameOf(folder)}/`));
  return [
    ...(showsSubscribed && folder.is_subscribed ? ['\\Subscribed'] : []),
    hasChildren ? '\\HasChildren' : '\\HasNoChildren',
    ...(specialUseOf(folder) === null ? [] : [specialUseOf(folder) as string]),
  ];
}

const SELECTIONS = ['SUBSCRIBED', 'SPECIAL-USE', 'REMOTE', 'RECURSIVEMATCH'];
const RETURNS = ['SUBSCRIBED', 'SPECIAL-USE', 'CHILDREN'];

/** @returns the request, or null if it is invalid. */
function parseList({ name, args }: Command): ListRequest | null {
  const selections = listOf(args[0]) ? upperTexts(args[0]) : [];
  const [reference, given, word, options] = listOf(args[0]) ? args.slice(1) : args;
  const patterns = textsOf(given);
  const base = textOf(reference);
  if (!selections || !patterns || base === null || selections.some((option) => !SELECTIONS.includes(option)))
    return null;
  if (word !== undefined && textOf(word)?.toUpperCase() !== 'RETURN') return null;
  const returned = parseReturn(word === undefined ? [] : (listOf(options) ?? null));
  const expressions = patterns.map((pattern) => toPattern(base + pattern));
  if (!returned || expressions.some((each) => each === null)) return null;
  const isSubscribedOnly = name === 'LSUB' || selections.includes('SUBSCRIBED');
  return {
    patterns: expressions as RegExp[],
    isSubscribedOnly,
    isSpecialOnly: selections.includes('SPECIAL-USE'),
    showsSubscribed: name === 'LIST' && (isSubscribedOnly || returned.options.includes('SUBSCRIBED')),
    statusItems: returned.statusItems,
  };
}

function parseReturn(args: readonly Argument[] | null): { options: string[]; statusItems: string[] } | null {
  if (!args) return null;
  const options: string[] = [];
  let statusItems: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const option = textOf(args[at])?.toUpperCase() ?? '';
    if (option === 'STATUS') {
      const items = parseStatusItems(args[++at]);
      if (!items) return null;
      statusItems = items;
    } else if (RETURNS.includes(option)) options.push(option);
    else return null;
  }
  return { options, statusItems };
}

const upperTexts = (argument: Argument | undefined): string[] | null =>
  textsOf(argument)?.map((text) => text.toUpperCase()) ?? null;

/** `*` matches everything, `%` all but a delimiter. INBOX has no case. */
function toPattern(text: string): RegExp | null {
  const name = decodeName(text);
  if (name === null) return null;
  const source = name.replace(/[.*+?^${}()|[\]\\%]/g, (character) =>
    character === '*' ? '.*' : character === '%' ? '[^/]*' : `\\${character}`,
  );
  // Several wildcards in a row would match in more ways than needed.
  const simple = source.replace(/(?:\.\*|\[\^\/\]\*){2,}/g, (run) => (run.includes('.*') ? '.*' : '[^/]*'));
  return new RegExp(`^${simple}$`, name.toUpperCase() === 'INBOX' ? 'i' : '');
}

type StatusValue = (overview: Overview, folder: Folder) => number | string;
const STATUS_VALUES: Readonly<Record<string, StatusValue>> = {
  MESSAGES: (_overview, { total }) => total,
  RECENT: () => 0,
  UIDNEXT: (_overview, { uid_next }) => uid_next,
  UIDVALIDITY: ({ uid_validity }) => uid_validity,
  UNSEEN: (_overview, { unread }) => unread,
  HIGHESTMODSEQ: ({ state }) => (state === '0' ? '1' : state),
};

function parseStatusItems(argument: Argument | undefined): string[] | null {
  const items = upperTexts(argument);
  return items && items.length > 0 && items.every((item) => item in STATUS_VALUES) ? items : null;
}

function toStatus(overview: Overview, folder: Folder, items: readonly string[]): string {
  const values = items.map((item) => `${item} ${STATUS_VALUES[item]?.(overview, folder)}`);
  return `* STATUS ${toWireName(nameOf(folder))} (${values.join(' ')})\r\n`;
}

export async function tellStatus({ account, session, wire }: Context, { args }: Command): Promise<Answer> {
  const name = readName(args[0]);
  const items = parseStatusItems(args[1]);
  if (name === null || !items || args.length !== 2) return SYNTAX;
  if (items.includes('HIGHESTMODSEQ')) session.enableCondstore();
  const overview = await account.readOverview();
  const folder = await account.findFolder(name);
  if (!folder) return no('No such mailbox', 'NONEXISTENT');
  await wire.say(toStatus(overview, folder, items));
  return ok('STATUS completed');
}
