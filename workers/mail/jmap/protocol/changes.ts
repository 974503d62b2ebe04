/** Answers of /changes and /queryChanges for all types (RFC 8620 §5.2, §5.6), from the change log of the mailbox. */
import type { JmapType } from '../../../../durable-objects/mail/contract/changed-types.ts';
import type { TypeChanges } from '../../../../durable-objects/mail/contract/jmap.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { toChangesLimit } from './arguments.ts';
import { CHANGES_LIMIT_MAX } from './limits.ts';
import { type Answer, type Arguments, type Call, type MethodError, toMethodError } from './method.ts';

/** @returns the changes of a type after a state, for at most `maxChanges` objects. */
export async function readTypeChanges(
  call: Call,
  type: JmapType,
  since: string,
  maxChanges: number | null,
): Promise<Result<TypeChanges, MethodError>> {
  if (!/^\d{1,15}$/.test(since)) return err({ type: 'cannotCalculateChanges' });
  const read = await call.ask((mailbox) => mailbox.readTypeChanges(type, Number(since), toChangesLimit(maxChanges)));
  if (!read.ok) return err(toMethodError(read.error));
  return read.value === null ? err({ type: 'cannotCalculateChanges' }) : ok(read.value);
}

interface ChangesArguments {
  readonly sinceState: string;
  readonly maxChanges: number | null;
}

/** @param more returns additional members of the answer, for a type that has some. */
export async function answerChanges(
  call: Call,
  type: JmapType,
  { sinceState, maxChanges }: ChangesArguments,
  more: (changes: TypeChanges) => Arguments = () => ({}),
): Promise<Answer> {
  const read = await readTypeChanges(call, type, sinceState, maxChanges);
  if (!read.ok) return read;
  const { newState, hasMoreChanges, created, updated, destroyed } = read.value;
  return ok({
    accountId: call.accountId,
    oldState: sinceState,
    newState,
    hasMoreChanges,
    created,
    updated,
    destroyed,
    ...more(read.value),
  });
}

interface QueryChangesArguments {
  readonly sinceQueryState: string;
  readonly maxChanges: number | null;
  readonly calculateTotal: boolean;
}

/**
 * Answers /queryChanges: as removed, every object that changed; as added, those of them that match now, at their current positions.
 * @param findIds returns all ids of the query, in order, and the ids that changed. A type may add further changed ids.
 */
export async function answerQueryChanges(
  call: Call,
  type: JmapType,
  args: QueryChangesArguments,
  findIds: (
    changed: readonly string[],
    threadIds: readonly string[],
  ) => Promise<Result<{ ids: readonly string[]; changed: readonly string[] }, MethodError>>,
): Promise<Answer> {
  const read = await readTypeChanges(call, type, args.sinceQueryState, CHANGES_LIMIT_MAX);
  if (!read.ok) return read;
  if (read.value.hasMoreChanges) return err({ type: 'tooManyChanges' });
  const { created, updated, destroyed, newState } = read.value;
  const found = await findIds([...new Set([...created, ...updated, ...destroyed])], read.value.threadIds);
  if (!found.ok) return found;
  const changed = new Set(found.value.changed);
  const added = found.value.ids.flatMap((id, index) => (changed.has(id) ? [{ id, index }] : []));
  if (args.maxChanges !== null && changed.size + added.length > args.maxChanges) return err({ type: 'tooManyChanges' });
  return ok({
    accountId: call.accountId,
    oldQueryState: args.sinceQueryState,
    newQueryState: newState,
    removed: [...changed],
    added,
    ...(args.calculateTotal ? { total: found.value.ids.length } : {}),
  });
}
