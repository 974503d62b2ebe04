/** Attacks on every route of the OpenAPI document, generated from the document: callers who may not use the route. */
import { readFileSync } from 'node:fs';
import { DOCUMENT_PATH } from '../../../../dev/generate/api-document.ts';
import { type JsonSchema, sample } from '../../../support/mail/json-schema-sample.ts';
import { type Attack, parsed, sendJson } from './attack.ts';
import type { World } from './world.ts';

interface Operation {
  readonly security?: readonly object[];
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: JsonSchema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}
interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}
interface Route {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Whether mail users may call the route. Other guarded routes are for operators and services. */
  readonly isOfUsers: boolean;
}

const toRoutes = (document: ApiDocument): Route[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation,
      isOfUsers: /"(?:session|basic)"/.test(JSON.stringify(operation.security ?? [])),
    })),
  );

/**
 * The document of this version, which `npm run test:long` writes before the tests. The running server's document would be too late,
 * because the names of tests are needed before it runs.
 */
const DOCUMENT: ApiDocument = JSON.parse(readFileSync(DOCUMENT_PATH, 'utf8'));
const ROUTES = toRoutes(DOCUMENT);
const GUARDED = ROUTES.filter(({ operation }) => operation.security?.length !== 0);

/** Lists the routes of the running server that are missing in the published document. */
export async function findMissingRoutes(world: World): Promise<string[]> {
  const document: ApiDocument = parsed(await sendJson(world, 'GET', '/v1/openapi.json', null));
  const names = new Set(ROUTES.map(({ name }) => name));
  return toRoutes(document)
    .map(({ name }) => name)
    .filter((name) => !names.has(name));
}

function call(world: World, route: Route, token: string | null) {
  const { parameters = [], requestBody } = route.operation;
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = world.ids[name];
    if (value === undefined) throw new Error(`No value for {${name}}. Add one to furnishMailbox().`);
    return encodeURIComponent(value);
  });
  const schemas = DOCUMENT.components.schemas;
  const query = new URLSearchParams(
    parameters
      .filter((each) => each.in === 'query' && each.required)
      .map(({ name, schema }): [string, string] => [name, String(sample(schema, schemas, name))]),
  );
  const json = requestBody?.content['application/json'];
  const body = json ? sample(json.schema, schemas) : undefined;
  return sendJson(world, route.method, query.size > 0 ? `${path}?${query}` : path, token, body);
}

const attack = (
  route: Route,
  caller: string,
  tokenOf: (world: World) => string | null,
  refusal: readonly number[],
): Attack => ({
  name: `${route.name} by ${caller}`,
  attempt: (world) => call(world, route, tokenOf(world)),
  refusal,
});

const SCORES = /^POST \/v1(?:\/boards\/\{board\})?\/scores(?:\/batch)?$/;
const INBOUND = /^POST \/v1\/inbound(?:\/check)?$/;
/** Routes that act on an operator's own session. */
const OWN = /\/v1\/operators\/(?:me|me\/.*|logout)$/;
/** Routes with a thread number. Threads are numbered in each mailbox, so the caller may have a thread with the victim's number. */
const OWN_NUMBERS = /^\/v1\/threads\//;
const changes = ({ method }: Route) => method !== 'GET';
/** Actions of a person that need a session: an app token may not take them. */
const OF_SESSIONS =
  /^(?:POST|PUT|DELETE) \/v1\/me\/(?:password|totp|tokens|passkeys|addresses|recovery-address|access-keys)|^DELETE \/v1\/me$/;

const attacksOn = (route: Route): Attack[] => {
  const attacks = [
    attack(route, 'nobody', () => null, [401]),
    attack(route, 'a made-up token', () => 'ses_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', [401]),
  ];
  if (route.isOfUsers) {
    attacks.push(attack(route, 'the token of a suspended user', ({ tokens }) => tokens.suspended, [401]));
    if (route.path.includes('{'))
      attacks.push(
        attack(
          route,
          'another user',
          ({ eve }) => eve.token,
          OWN_NUMBERS.test(route.path) ? [200, 404] : [400, 403, 404, 409],
        ),
      );
    if (OF_SESSIONS.test(route.name))
      attacks.push(attack(route, 'an app token of its user', ({ tokens }) => tokens.mailApp, [403]));
  } else {
    attacks.push(attack(route, 'a user of mail', ({ eve }) => eve.token, [403]));
    attacks.push(attack(route, 'a revoked token', ({ tokens }) => tokens.revoked, [401]));
  }
  if (!SCORES.test(route.name)) attacks.push(attack(route, 'a game server', ({ tokens }) => tokens.game, [403]));
  if (!INBOUND.test(route.name)) attacks.push(attack(route, 'a mail gateway', ({ tokens }) => tokens.inbound, [403]));
  attacks.push(attack(route, 'a bridge', ({ tokens }) => tokens.bridge, [403]));
  if (!OWN.test(route.path) && (changes(route) || route.isOfUsers))
    attacks.push(attack(route, 'an operator who may read', ({ operators }) => operators.read, [403]));
  return attacks;
};

export const ROUTE_ATTACKS: readonly Attack[] = GUARDED.flatMap(attacksOn);
