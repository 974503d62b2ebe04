/** The messages that a command names: the first argument, as sequence numbers or UIDs. */
import { type Argument, type Command, textOf } from '../command.ts';
import type { SelectedContext } from '../context.ts';
import type { Row } from '../folder-mirror.ts';
import { parseSequenceSet } from '../sequence-set.ts';

export interface NamedMessages {
  readonly rows: readonly Row[];
  /** Whether some have left the folder, and the client was not told yet. */
  readonly hasGone: boolean;
}

export const isUidCommand = (command: Command): boolean => command.name.startsWith('UID ');

/** @returns the messages, or null if the argument is no set or names a sequence number that does not exist. */
export function findMessages(
  { view }: SelectedContext,
  argument: Argument | undefined,
  isUid: boolean,
): NamedMessages | null {
  const set = parseSequenceSet(textOf(argument) ?? '');
  const uids = set && view.select(set, isUid);
  if (!uids) return null;
  const rows = uids.flatMap((uid) => view.mirror.find(uid) ?? []);
  return { rows, hasGone: !isUid && rows.length < uids.length };
}

export function* inChunks<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < list.length; at += size) yield list.slice(at, at + size);
}
