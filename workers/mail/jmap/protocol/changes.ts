/** Answers of /changes and /queryChanges for all types (RFC 8620 §5.2, §5.6), from the change log of the mailbox. */
import type { JmapType } from '../../../../durable-objects/mail/contract/changed-types.ts';
import type { TypeChanges } from '../../../../durable-objects/mail/contract/jmap.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { toChangesLimit } from './arguments.ts';
import { CHANGES_LIMIT_MAX } from './limits.ts';
import { type Answer, type Arguments, type Call, type MethodError, toMethodError } from './method.ts';

/** @returns the changes of a type after a state, for at most `maxChanges` objects. @param folderId see `TypeChanges.outside`. */
export async function readTypeChanges(
  call: Call,
  type: JmapType,
  since: string,
  { maxChanges, folderId = null }: { readonly maxChanges: number | null; readonly folderId?: string | null },
): Promise<Result<TypeChanges, MethodError>> {
  if (!/^\d{1,15}$/.test(since)) return err({ type: 'cannotCalculateChanges' });
  const limit = toChangesLimit(maxChanges);
  const read = await call.ask((mailbox) => mailbox.readTypeChanges(type, Number(since), limit, folderId));
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
  const read = await readTypeChanges(call, type, sinceState, { maxChanges });
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
  /** The folder that all results are in, if there is one. */
  readonly folderId?: string | null;
}

interface FoundIds {
  /** State at which the ids were read. */
  readonly state: string;
  /** All ids of the query, in order. */
  readonly ids: readonly string[];
  /** Ids that changed. A type may add further ones. */
  readonly changed: readonly string[];
}

/** Reads of the changes and of the query, until both are of one state. */
const ATTEMPTS_MAX = 3;

/**
 * Answers /queryChanges: as removed, every object that changed and that may have been in the old results; as added, those of the
 * changed objects that match now, at their current positions. An object that was created after the old state is not removed
 * (RFC 8620 §5.6), because clients subtract what is.
 */
export async function answerQueryChanges(
  call: Call,
  type: JmapType,
  args: QueryChangesArguments,
  findIds: (changed: readonly string[], threadIds: readonly string[]) => Promise<Result<FoundIds, MethodError>>,
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const read = await readTypeChanges(call, type, args.sinceQueryState, {
      maxChanges: CHANGES_LIMIT_MAX,
      folderId: args.folderId ?? null,
    });
    if (!read.ok) return read;
    if (read.value.hasMoreChanges) return err({ type: 'tooManyChanges' });
    const { created, updated, destroyed, newState } = read.value;
    const found = await findIds([...new Set([...created, ...updated, ...destroyed])], read.value.threadIds);
    if (!found.ok) return found;
    // Positions are right only if nothing changed between the two reads.
    if (found.value.state === newState) return toQueryChanges(call, args, read.value, found.value);
    if (attempt === ATTEMPTS_MAX) return err({ type: 'cannotCalculateChanges' });
  }
}

function toQueryChanges(
  call: Call,
  { sinceQueryState, maxChanges, calculateTotal }: QueryChangesArguments,
  { created, outside, newState }: TypeChanges,
  found: FoundIds,
): Answer {
  const changed = new Set(found.changed);
  const added = found.ids.flatMap((id, index) => (changed.has(id) ? [{ id, index }] : []));
  const neverIn = new Set([...created, ...outside]);
  const removed = found.changed.filter((id) => !neverIn.has(id));
  if (maxChanges !== null && removed.length + added.length > maxChanges) return err({ type: 'tooManyChanges' });
  return ok({
    accountId: call.accountId,
    oldQueryState: sinceQueryState,
    newQueryState: newState,
    removed,
    added,
    ...(calculateTotal ? { total: found.ids.length } : {}),
  });
}
