/** Answers of /get, /changes, /query and /set (RFC 8620 §5) for types whose objects all fit in memory. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { takeWindow, type Window, type WindowRequest } from '../domain/query-window.ts';
import { OBJECTS_PER_GET_MAX, OBJECTS_PER_SET_MAX, QUERY_LIMIT_MAX } from './limits.ts';
import { type Answer, type Arguments, type Call, invalidArguments, type MethodError, type SetError } from './method.ts';

export interface GetArguments {
  readonly ids: readonly string[] | null;
  readonly properties: readonly string[] | null;
}

/** @returns the error of a /get if it requests too many objects or an unknown property; otherwise null. */
export function findGetError(
  { ids, properties }: GetArguments,
  isProperty: (name: string) => boolean,
): MethodError | null {
  if (ids !== null && ids.length > OBJECTS_PER_GET_MAX)
    return { type: 'requestTooLarge', description: `At most ${OBJECTS_PER_GET_MAX} ids.` };
  const unknown = properties?.find((name) => !isProperty(name));
  return unknown === undefined ? null : invalidArguments(`Unknown property: ${unknown.slice(0, 200)}`);
}

/** @returns an object with only its id and the requested properties. */
export function pick(object: Arguments, properties: readonly string[] | null): Arguments {
  if (properties === null) return object;
  return Object.fromEntries([
    ['id', object.id],
    ...properties.filter((name) => name in object).map((name) => [name, object[name]]),
  ]);
}

/** Answers /get. @param objects all objects of the type. */
export function answerGet(
  call: Call,
  args: GetArguments,
  { state, objects, known }: { state: string; objects: readonly Arguments[]; known: readonly string[] },
): Answer {
  const refusal = findGetError(args, (name) => known.includes(name));
  if (refusal) return err(refusal);
  const byId = new Map(objects.map((object) => [object.id as string, object]));
  const ids = [...new Set((args.ids ?? [...byId.keys()]).map((id) => resolveId(call, id)))];
  return ok({
    accountId: call.accountId,
    state,
    list: ids.map((id) => byId.get(id)).flatMap((object) => (object ? [pick(object, args.properties)] : [])),
    notFound: ids.filter((id) => !byId.has(id)),
  });
}

/**
 * Resolves a creation id: `#key` becomes the id of the object that this request created as `key`. Any other id stays (RFC 8620
 * §5.3).
 */
export const resolveId = ({ created }: Pick<Call, 'created'>, id: string): string =>
  id.startsWith('#') ? (created.get(id.slice(1)) ?? id) : id;

export interface QueryArguments extends WindowRequest {
  readonly calculateTotal: boolean;
}

/** Answers /query. @param ids ids of all matches, in order. */
export function answerQuery(
  call: Call,
  args: Omit<QueryArguments, 'limit'> & { readonly limit: number | null },
  {
    queryState,
    ids,
    canCalculateChanges,
  }: { queryState: string; ids: readonly string[]; canCalculateChanges: boolean },
): Answer {
  const limit = Math.min(args.limit ?? QUERY_LIMIT_MAX, QUERY_LIMIT_MAX);
  const window = takeWindow(ids, { ...args, limit });
  return window
    ? ok(toQueryAnswer(call, args, { queryState, canCalculateChanges, window, total: ids.length }))
    : err({ type: 'anchorNotFound' });
}

export function toQueryAnswer(
  call: Call,
  { limit, calculateTotal }: { readonly limit: number | null; readonly calculateTotal: boolean },
  found: { queryState: string; canCalculateChanges: boolean; window: Window; total: number | null },
): Arguments {
  return {
    accountId: call.accountId,
    queryState: found.queryState,
    canCalculateChanges: found.canCalculateChanges,
    position: found.window.position,
    ids: found.window.ids,
    ...(calculateTotal && found.total !== null ? { total: found.total } : {}),
    ...(limit === null || limit > QUERY_LIMIT_MAX ? { limit: QUERY_LIMIT_MAX } : {}),
  };
}

export interface SetArguments {
  readonly ifInState: string | null;
  readonly create: Readonly<Record<string, Arguments>> | null;
  readonly update: Readonly<Record<string, Arguments>> | null;
  readonly destroy: readonly string[] | null;
}

export interface SetHandlers {
  /** Creates an object. @returns its id and the other properties that the server set. */
  readonly create: (object: Arguments, creationId: string) => Promise<Result<Arguments, SetError>>;
  /** Updates an object. @returns the properties whose new values differ from the patch; null if there are none. */
  readonly update: (id: string, patch: Arguments) => Promise<Result<Arguments | null, SetError>>;
  readonly destroy: (id: string) => Promise<Result<null, SetError>>;
}

/** @returns the error of a whole /set; null if it may run. */
export function findSetError({ ifInState, create, update, destroy }: SetArguments, state: string): MethodError | null {
  const count = Object.keys(create ?? {}).length + Object.keys(update ?? {}).length + (destroy ?? []).length;
  if (count > OBJECTS_PER_SET_MAX)
    return { type: 'requestTooLarge', description: `At most ${OBJECTS_PER_SET_MAX} objects.` };
  return ifInState !== null && ifInState !== state ? { type: 'stateMismatch' } : null;
}

export class SetOutcome {
  readonly created: Record<string, Arguments> = {};
  readonly updated: Record<string, Arguments | null> = {};
  readonly destroyed: string[] = [];
  readonly notCreated: Record<string, SetError> = {};
  readonly notUpdated: Record<string, SetError> = {};
  readonly notDestroyed: Record<string, SetError> = {};

  toAnswer(call: Call, states: { oldState: string; newState: string }): Arguments {
    const orNull = <T extends object>(value: T): T | null => (Object.keys(value).length > 0 ? value : null);
    return {
      accountId: call.accountId,
      ...states,
      created: orNull(this.created),
      updated: orNull(this.updated),
      destroyed: orNull(this.destroyed),
      notCreated: orNull(this.notCreated),
      notUpdated: orNull(this.notUpdated),
      notDestroyed: orNull(this.notDestroyed),
    };
  }
}

/** Runs a /set: creates, updates and destroys its objects one after another. */
export async function runSet(call: Call, args: SetArguments, handlers: SetHandlers): Promise<SetOutcome> {
  const outcome = new SetOutcome();
  for (const [creationId, object] of Object.entries(args.create ?? {})) {
    const made = await handlers.create(object, creationId);
    if (made.ok) {
      outcome.created[creationId] = made.value;
      call.created.set(creationId, String(made.value.id));
    } else outcome.notCreated[creationId] = made.error;
  }
  const destroyed = new Set((args.destroy ?? []).map((id) => resolveId(call, id)));
  for (const [key, patch] of Object.entries(args.update ?? {})) {
    const id = resolveId(call, key);
    const done = destroyed.has(id) ? err<SetError>({ type: 'willDestroy' }) : await handlers.update(id, patch);
    if (done.ok) outcome.updated[id] = done.value;
    else outcome.notUpdated[id] = done.error;
  }
  for (const id of destroyed) {
    const done = await handlers.destroy(id);
    if (done.ok) outcome.destroyed.push(id);
    else outcome.notDestroyed[id] = done.error;
  }
  return outcome;
}

export const invalidProperties = (properties: readonly string[], description?: string): SetError => ({
  type: 'invalidProperties',
  properties,
  ...(description === undefined ? {} : { description }),
});

/** Error for creating or destroying an object of a type that has only one object (RFC 8620 §5.3). */
export const SINGLETON = err<SetError>({ type: 'singleton' });
export const NOT_FOUND = err<SetError>({ type: 'notFound' });
