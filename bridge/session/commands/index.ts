/** The commands after a log-in, and which of them need a selected mailbox. */

import type { Command } from '../command.ts';
import { type Answer, type Context, type Handler, ok, type SelectedHandler, SYNTAX } from '../context.ts';
import { append } from './append.ts';
import { fetchMessages } from './fetch.ts';
import { storeFlags } from './flags.ts';
import { createMailbox, deleteMailbox, renameMailbox, selectMailbox, subscribe, tellNamespace } from './folders.ts';
import { listMailboxes, tellStatus } from './list.ts';
import { closeMailbox, copyMessages, expunge } from './placing.ts';
import { search } from './search.ts';

type Found =
  | { readonly kind: 'any'; readonly handler: Handler }
  | { readonly kind: 'selected'; readonly handler: SelectedHandler };

const ANY: Readonly<Record<string, Handler>> = {
  NOOP: poll,
  SELECT: selectMailbox,
  EXAMINE: selectMailbox,
  CREATE: createMailbox,
  DELETE: deleteMailbox,
  RENAME: renameMailbox,
  SUBSCRIBE: subscribe,
  UNSUBSCRIBE: subscribe,
  LIST: listMailboxes,
  LSUB: listMailboxes,
  STATUS: tellStatus,
  APPEND: append,
  NAMESPACE: tellNamespace,
  ENABLE: enable,
};

const SELECTED: Readonly<Record<string, SelectedHandler>> = {
  CHECK: poll,
  FETCH: fetchMessages,
  STORE: storeFlags,
  SEARCH: search,
  COPY: copyMessages,
  MOVE: copyMessages,
  EXPUNGE: expunge,
  CLOSE: closeMailbox,
  UNSELECT: closeMailbox,
  'UID FETCH': fetchMessages,
  'UID STORE': storeFlags,
  'UID SEARCH': search,
  'UID COPY': copyMessages,
  'UID MOVE': copyMessages,
  'UID EXPUNGE': expunge,
};

export function findHandler(name: string): Found | null {
  if (Object.hasOwn(ANY, name)) return { kind: 'any', handler: ANY[name] as Handler };
  return Object.hasOwn(SELECTED, name) ? { kind: 'selected', handler: SELECTED[name] as SelectedHandler } : null;
}

/** NOOP and CHECK: reads what changed in the selected folder. */
async function poll({ session }: Context, { name, args }: Command): Promise<Answer> {
  if (args.length > 0) return SYNTAX;
  await session.view?.mirror.sync();
  return ok(`${name} completed`);
}

async function enable({ session, wire }: Context, { args }: Command): Promise<Answer> {
  const wanted = args.some((each) => each && !Array.isArray(each) && String(each.value).toUpperCase() === 'CONDSTORE');
  if (wanted) session.enableCondstore();
  await wire.say(`* ENABLED${wanted ? ' CONDSTORE' : ''}\r\n`);
  return ok('ENABLE completed');
}
