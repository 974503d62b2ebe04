/**
 * Compares two versions of the API document and lists the changes that break a client: a request that was accepted is now refused,
 * or an answer lacks a member that it had. New operations, new optional members and new values in answers break nothing
 * (docs/api-stability.md).
 *
 * `npm run api:changes [VERSION]` builds the Worker and compares its document with that of a release, the last one by default. A person
 * accepts a breaking change by a line of CHANGELOG.md, which its users read. The exit status is 1 if a breaking change is not listed
 * there, or if a listed one is none.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../local/build.ts';
import { listReleases, readReleasedDocument } from './api-document.ts';
import { readServedDocument } from './api-types.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly maximum?: number;
  readonly minimum?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly maxItems?: number;
  readonly minItems?: number;
}

interface Operation {
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema?: Schema }[];
  readonly requestBody?: { required?: boolean; content: Readonly<Record<string, { schema?: Schema }>> };
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema?: Schema }>> }>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

type Direction = 'request' | 'answer';

const UPPER_LIMITS = ['maximum', 'maxLength', 'maxItems'] as const;
const LOWER_LIMITS = ['minimum', 'minLength', 'minItems'] as const;

/** Finds the breaking changes between two documents. @returns one sentence per change, in the order of the old document. */
export function findBreakingChanges(before: ApiDocument, after: ApiDocument): string[] {
  const changes: string[] = [];
  for (const [path, operations] of Object.entries(before.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const name = `${method.toUpperCase()} ${path}`;
      const now = after.paths[path]?.[method];
      if (now === undefined) changes.push(`${name} is gone.`);
      else changes.push(...compareOperations(operation, now, before, after).map((change) => `${name}: ${change}`));
    }
  }
  return changes;
}

function compareOperations(was: Operation, now: Operation, before: ApiDocument, after: ApiDocument): string[] {
  const compare = createComparison(before, after);
  const changes: string[] = [];
  const keyOf = (parameter: { name: string; in: string }) => `${parameter.in} parameter ${parameter.name}`;
  const old = new Map((was.parameters ?? []).map((parameter) => [keyOf(parameter), parameter]));
  const current = new Map((now.parameters ?? []).map((parameter) => [keyOf(parameter), parameter]));
  for (const [key, parameter] of old) {
    const same = current.get(key);
    if (same === undefined) changes.push(`the ${key} is refused now.`);
    else changes.push(...compare(parameter.schema, same.schema, 'request', `the ${key}`));
  }
  for (const [key, parameter] of current) {
    if (parameter.required === true && old.get(key)?.required !== true) changes.push(`the ${key} is required now.`);
  }
  if (now.requestBody?.required === true && was.requestBody?.required !== true) changes.push('a body is required now.');
  for (const [type, { schema }] of Object.entries(was.requestBody?.content ?? {})) {
    const same = now.requestBody?.content[type];
    if (same === undefined) changes.push(`a body of ${type} is refused now.`);
    else changes.push(...compare(schema, same.schema, 'request', 'the body'));
  }
  for (const [status, answer] of Object.entries(was.responses).filter(([code]) => code.startsWith('2'))) {
    const same = now.responses[status];
    if (same === undefined) changes.push(`the answer ${status} is gone.`);
    for (const [type, { schema }] of Object.entries(answer.content ?? {})) {
      if (same === undefined) continue;
      const found = same.content?.[type];
      if (found === undefined) changes.push(`the answer ${status} is no longer ${type}.`);
      else changes.push(...compare(schema, found.schema, 'answer', `the answer ${status}`));
    }
  }
  return changes;
}

type Comparison = (was: Schema | undefined, now: Schema | undefined, direction: Direction, at: string) => string[];

function createComparison(before: ApiDocument, after: ApiDocument): Comparison {
  const compared = new Set<string>();
  const compare: Comparison = (was, now, direction, at) => {
    const pair = `${was?.$ref} ${now?.$ref} ${direction}`;
    if (was?.$ref !== undefined && compared.has(pair)) return [];
    if (was?.$ref !== undefined) compared.add(pair);
    const old = resolve(was, before);
    const current = resolve(now, after);
    return [
      ...compareTypes(old, current, direction, at),
      ...compareValues(old, current, direction, at),
      ...compareMembers(old, current, direction, at),
      ...(old.items ? compare(old.items, current.items, direction, `an item of ${at}`) : []),
      ...Object.entries(old.properties ?? {}).flatMap(([name, schema]) => {
        const same = current.properties?.[name];
        return same === undefined ? [] : compare(schema, same, direction, `${name} in ${at}`);
      }),
    ];
  };
  return compare;
}

/** Resolves a schema: follows its reference, and joins the parts of `allOf`. */
function resolve(schema: Schema | undefined, document: ApiDocument): Schema {
  if (schema === undefined) return {};
  if (schema.$ref !== undefined) {
    return resolve(document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? ''], document);
  }
  const { allOf, ...own } = schema;
  if (allOf === undefined) return own;
  const parts = [own, ...allOf.map((part) => resolve(part, document))];
  const joined: Schema = Object.assign({}, ...parts);
  return {
    ...joined,
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required }) => required ?? []),
  };
}

const typesOf = (schema: Schema): string[] => [schema.type ?? []].flat();

function compareTypes(was: Schema, now: Schema, direction: Direction, at: string): string[] {
  const [narrow, wide] = direction === 'request' ? [was, now] : [now, was];
  if (typesOf(wide).length === 0) return [];
  const accepts = (type: string) =>
    typesOf(wide).includes(type) || (type === 'integer' && typesOf(wide).includes('number'));
  const extra = typesOf(narrow).filter((type) => !accepts(type));
  if (extra.length === 0) return [];
  return [
    direction === 'request' ? `${at} may not be ${extra.join(' or ')} now.` : `${at} may be ${extra.join(' or ')} now.`,
  ];
}

function compareValues(was: Schema, now: Schema, direction: Direction, at: string): string[] {
  if (direction === 'answer') return [];
  const refused = now.enum === undefined ? [] : (was.enum ?? []).filter((value) => !now.enum?.includes(value));
  const changes = refused.map((value) => `${at} may not be ${JSON.stringify(value)} now.`);
  for (const limit of UPPER_LIMITS) {
    const [old, current] = [was[limit], now[limit]];
    if (current !== undefined && current < (old ?? Number.POSITIVE_INFINITY))
      changes.push(`${limit} of ${at} is ${current} now.`);
  }
  for (const limit of LOWER_LIMITS) {
    const [old, current] = [was[limit], now[limit]];
    if (current !== undefined && current > (old ?? Number.NEGATIVE_INFINITY))
      changes.push(`${limit} of ${at} is ${current} now.`);
  }
  return changes;
}

function compareMembers(was: Schema, now: Schema, direction: Direction, at: string): string[] {
  const gone = Object.keys(was.properties ?? {}).filter((name) => now.properties?.[name] === undefined);
  if (direction === 'request') {
    const demanded = (now.required ?? []).filter((name) => !was.required?.includes(name));
    return [
      ...gone.map((name) => `${name} in ${at} is refused now.`),
      ...demanded.map((name) => `${name} in ${at} is required now.`),
    ];
  }
  const optional = (was.required ?? []).filter((name) => !gone.includes(name) && !now.required?.includes(name));
  return [
    ...gone.map((name) => `${name} in ${at} is gone.`),
    ...optional.map((name) => `${name} in ${at} may be absent now.`),
  ];
}

const ACCEPTED_HEADING = '### Breaking changes of the API';

/**
 * Reads the breaking changes that the newest section of a changelog lists.
 * @returns the sentences in backticks that begin the lines of the list.
 */
export function readAcceptedChanges(changelog: string): string[] {
  const [, newest = ''] = changelog.split(/^## /m);
  const [, listed = ''] = newest.split(`${ACCEPTED_HEADING}\n`);
  const [list = ''] = listed.split(/^### /m);
  return [...list.matchAll(/^- `([^`]+)`/gm)].map(([, sentence = '']) => sentence);
}

/** Compares breaking changes with those that are accepted. @returns the lines of a report; none if the gate may pass. */
export function judgeChanges(changes: readonly string[], accepted: readonly string[]): string[] {
  const unlisted = changes.filter((change) => !accepted.includes(change));
  const stale = accepted.filter((change) => !changes.includes(change));
  return [
    ...unlisted.map((change) => `not listed in CHANGELOG.md: ${change}`),
    ...stale.map((change) => `listed in CHANGELOG.md, but not a change: ${change}`),
  ];
}

async function main(): Promise<void> {
  const last = listReleases().at(-1);
  const version = process.argv[2] ?? last;
  if (version === undefined) return console.log('API changes: no release to compare with.');
  const before = JSON.parse(readReleasedDocument(version)) as ApiDocument;
  const changes = findBreakingChanges(before, JSON.parse(await readServedDocument()));
  const none = changes.length === 0;
  console.log(
    none ? `API changes since ${version}: none that break a client.` : `Breaking API changes since ${version}:`,
  );
  for (const change of changes) console.log(`- ${change}`);
  // CHANGELOG.md lists the changes since the last release only.
  const faults =
    version === last
      ? judgeChanges(changes, readAcceptedChanges(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')))
      : [];
  if (faults.length === 0) return;
  console.error(
    `${faults.join('\n')}\nAvoid the change (docs/api-stability.md), or list it under "${ACCEPTED_HEADING}" in the newest section of CHANGELOG.md, as\n- \`the sentence\` and what a client has to do.`,
  );
  process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
