/** Resolves references to results of earlier method calls (RFC 8620 §3.7). Pure. */
import type { RequestBudget } from '../../../shared/pure/request-budget.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';

type Json = Readonly<Record<string, unknown>>;
export interface EarlierAnswer {
  readonly name: string;
  readonly args: Json;
  readonly callId: string;
}

export interface ReferenceError {
  readonly type: 'invalidArguments' | 'invalidResultReference';
  readonly description: string;
}

interface Source {
  readonly answers: readonly EarlierAnswer[];
  /** Maximum of references in the arguments. */
  readonly referencesMax: number;
  readonly budget: RequestBudget;
}

/** Maximum length of a JSON pointer. Pointers of clients are shorter than 100 characters. */
const PATH_LENGTH_MAX = 1_000;

/**
 * Replaces each argument with a name `#name` by the argument `name`, with the value that it refers to. The budget counts each value
 * as if it were in the request.
 * @throws OverBudgetError if the values exceed the budget.
 */
export function resolveReferences(args: Json, source: Source): Result<Json, ReferenceError> {
  if (Object.keys(args).filter((key) => key.startsWith('#')).length > source.referencesMax)
    return fail(`A method call has at most ${source.referencesMax} result references.`);
  const resolved: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(args)) {
    if (!key.startsWith('#')) {
      resolved[key] = value;
      continue;
    }
    const name = key.slice(1);
    if (name in args)
      return err({ type: 'invalidArguments', description: `${name} is given both as a value and by reference.` });
    const found = resolveReference(value, source);
    if (!found.ok) return found;
    resolved[name] = found.value;
  }
  return ok(resolved);
}

function resolveReference(value: unknown, { answers, budget }: Source): Result<unknown, ReferenceError> {
  const { resultOf, name, path } = (value ?? {}) as Json;
  if (typeof resultOf !== 'string' || typeof name !== 'string' || typeof path !== 'string')
    return fail('A result reference has resultOf, name and path.');
  const answer = answers.find((each) => each.callId === resultOf);
  if (path.length > PATH_LENGTH_MAX) return fail('The path is too long.');
  if (!answer || answer.name !== name) return fail(`No earlier call ${resultOf} was answered with ${name}.`);
  if (path !== '' && !path.startsWith('/')) return fail(`${path} is not a JSON pointer.`);
  const keys = path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const found = walk(answer.args, keys, budget);
  return found === undefined ? fail(`The result of ${resultOf} has no ${path}.`) : ok(found);
}

const fail = (description: string) => err({ type: 'invalidResultReference', description } as const);

/**
 * Resolves a JSON pointer (RFC 6901), in which `*` stands for every item of an array.
 * @returns undefined if the path does not resolve.
 */
function walk(value: unknown, keys: readonly string[], budget: RequestBudget): unknown {
  const [key, ...rest] = keys;
  if (value === undefined) return undefined;
  if (key === undefined) {
    budget.spendJson(value);
    return value;
  }
  if (Array.isArray(value)) {
    if (key !== '*') return /^(?:0|[1-9]\d*)$/.test(key) ? walk(value[Number(key)], rest, budget) : undefined;
    // Counts the visit of each item too, because an item may bring nothing.
    budget.spend(value.length);
    const items = value.map((item) => walk(item, rest, budget));
    return items.includes(undefined) ? undefined : items.flat(1);
  }
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
  return walk((value as Json)[key], rest, budget);
}
