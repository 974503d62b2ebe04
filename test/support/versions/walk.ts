/**
 * Calls every route of a running Worker once, and lets its background work run. The objects of the Worker may be of another version.
 * Used to compare a mixed deployment with one of a single version.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WORKER_BUNDLE } from '../../../dev/local/build.ts';
import { type LocalServer, startLocalServer } from '../../../dev/local/local-server.ts';
import { type JsonSchema, sample } from '../mail/json-schema-sample.ts';
import { unpackLast } from './last-release.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of any route of any version
type Json = any;

export type Version = 'this' | 'last';

interface Operation {
  readonly tags?: readonly string[];
  readonly security?: readonly Record<string, unknown>[];
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: JsonSchema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}

interface Mix {
  readonly worker: Version;
  readonly objects: Version;
  /** Renames a call in the objects of the last release, so that they lack it: a seeded fault. */
  readonly renamed?: readonly [from: string, to: string];
}

export interface Walked {
  /** Status and code of the answer to each call, by method and path. */
  readonly answers: ReadonlyMap<string, string>;
  /** Events of the log with the level `error`, and how often each came. */
  readonly errors: ReadonlyMap<string, number>;
  /** Lines of the log that name a call which an object lacks. */
  readonly missing: readonly string[];
}

/** Time within which the background work of one mail ends. */
const BACKGROUND_MS = 20_000;
/** Time after which an answer that is still open counts by its status. Streams of events do not end. */
const ANSWER_MS = 30_000;
const PASSWORD = 'correct horse battery';
/** Calls that end credentials which other calls need, or that stop the service. They come last, in this order. */
const LAST = ['POST /v1/auth/logout', 'DELETE /v1/me/sessions', 'DELETE /v1/me'];
/** Calls of the platform or of other services, which would wait for minutes. */
const LEFT_OUT = new Set(['POST /v1/me/passkeys', 'POST /v1/import']);

interface Sent {
  readonly body: string;
  readonly type?: string;
}

interface Person {
  readonly token: string;
  readonly email: string;
  readonly userId: string;
}

class Walk {
  readonly #server: LocalServer;
  readonly #answers = new Map<string, string>();
  readonly #root: string;
  #user: Person = { token: '', email: '', userId: '' };
  /** A person whom no call of a route changes. */
  #other: Person = this.#user;
  #ids: Record<string, string> = {};
  #components: Readonly<Record<string, JsonSchema>> = {};

  constructor(server: LocalServer, root: string) {
    this.#server = server;
    this.#root = root;
  }

  async #call(method: string, path: string, token: string | null, sent?: Sent) {
    const { body, type = 'application/json' } = sent ?? {};
    const signal = AbortSignal.timeout(ANSWER_MS);
    const headers = {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': type }),
    };
    const response = await fetch(this.#server.url + path, { method, headers, signal, ...(body ? { body } : {}) });
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    if (!isJson) await response.body?.cancel();
    return { status: response.status, body: (isJson ? await response.json() : null) as Json };
  }

  /** Makes one of each thing that routes name. The answers are recorded too. */
  async furnish(): Promise<void> {
    const note = async (method: string, path: string, token: string | null, body?: object) => {
      const answer = await this.#call(method, path, token, body && { body: JSON.stringify(body) });
      this.#answers.set(`furnish ${method} ${path}`, `${answer.status} ${answer.body?.code ?? ''}`.trim());
      return answer.body ?? {};
    };
    const register = async (name: string): Promise<Person> => {
      const email = `${name}@example.test`;
      const made = await note('POST', '/v1/auth/register', null, { email, password: PASSWORD, name });
      return { token: made.token, email, userId: made.user?.user_id ?? '' };
    };
    this.#user = await register('walker');
    this.#other = await register('other');
    const { token, email } = this.#user;
    const as = (method: string, path: string, body?: object) => note(method, path, token, body);
    await as('POST', '/v1/auth/confirm', { password: PASSWORD });
    await this.#receive(this.#user, 'walked');
    const [message] = (await as('GET', '/v1/folders/inbox/messages'))?.data ?? [];
    const folder = await as('POST', '/v1/folders', { name: 'walked' });
    const draft = await as('POST', '/v1/drafts', { to: [{ email }], subject: 'draft', body: 'x' });
    const filter = await as('POST', '/v1/filters', {
      name: 'walked',
      conditions: [],
      actions: [{ type: 'label', label: 'walked' }],
    });
    const contact = await as('POST', '/v1/contacts', { name: 'W', email: 'w@elsewhere.test' });
    const app = await as('POST', '/v1/me/tokens', { name: 'walked' });
    const [session] = (await as('GET', '/v1/me/sessions'))?.data ?? [];
    const sent = await as('POST', '/v1/messages', { to: [{ email }], subject: 'to-self', body: 'x' });
    await note('POST', '/v1/scores', this.#root, { user_id: 'ada', points: 3, event_id: 'walked-1' });
    await note('PUT', '/v1/boards/walked', this.#root, { title: 'W', sort: 'desc', operator: 'sum', period: 'month' });
    await note('POST', '/v1/boards/walked/scores', this.#root, { user_id: 'ada', points: 3, event_id: 'walked-2' });
    const [season] = (await note('GET', '/v1/seasons', null))?.data ?? [];
    this.#ids = {
      ...{ message_id: message?.id, thread_id: message?.thread_id, folder_id: folder.id, draft_id: draft.id },
      ...{ filter_id: filter.id, contact_id: contact.id, token_id: app.token_id, session_id: session?.session_id },
      ...{ outbox_id: sent.id, user_id: this.#user.userId, account_id: this.#user.userId, email },
      ...{ season: season?.season, board: 'walked', shard: '0', domain: 'example.test', collector: 'mail' },
    };
  }

  /** Accepts a mail and waits until it is in the inbox. */
  async #receive({ email, token }: Person, subject: string): Promise<void> {
    const raw = `From: a@far.test\r\nTo: ${email}\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@far.test>\r\n\r\nx\r\n`;
    const response = await fetch(`${this.#server.url}/v1/inbound`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#root}`,
        ...{ 'x-envelope-from': 'a@far.test', 'x-envelope-to': email },
        ...{ 'x-client-ip': '127.0.0.1', 'x-helo': 'far.test' },
      },
      body: raw,
    });
    this.#answers.set(`inbound ${subject}`, String(response.status));
    const endsAt = Date.now() + BACKGROUND_MS;
    let isThere = false;
    while (!isThere && Date.now() < endsAt) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const { body } = await this.#call('GET', '/v1/folders/inbox/messages', token);
      isThere = (body?.data ?? []).some((message: Json) => message.subject === subject);
    }
    this.#answers.set(`background ${subject}`, isThere ? 'delivered' : 'not delivered');
  }

  /** @param isWanted decides by method and path whether to make a call. */
  async callRoutes(isWanted: (name: string) => boolean): Promise<void> {
    const { body: document } = await this.#call('GET', '/v1/openapi.json', null);
    this.#components = document.components.schemas;
    const routes = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
      ([path, operations]) => Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
    );
    const order = ['get', 'head', 'patch', 'put', 'post', 'delete'];
    const rank = ({ method, path }: { method: string; path: string }) =>
      LAST.indexOf(`${method.toUpperCase()} ${path}`) * 10 + order.indexOf(method);
    for (const route of routes.sort((a, b) => rank(a) - rank(b))) {
      const name = `${route.method.toUpperCase()} ${route.path}`;
      if (isWanted(name) && !LEFT_OUT.has(name)) this.#answers.set(name, await this.#tryRoute(route));
    }
  }

  async #tryRoute(route: { method: string; path: string; operation: Operation }): Promise<string> {
    const { security = [], parameters = [], requestBody } = route.operation;
    const isOfUser = security.some((each) => 'session' in each);
    const token = security.length === 0 ? null : isOfUser ? this.#user.token : this.#root;
    const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(this.#ids[name] ?? 'any'));
    const query = new URLSearchParams();
    for (const { name, in: place, required, schema } of parameters)
      if (place === 'query' && required) query.set(name, String(sample(schema, this.#components, name)));
    const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
    const isJson = type === 'application/json';
    const json = isJson && content ? JSON.stringify(sample(content.schema, this.#components)) : undefined;
    const sent = type === undefined ? undefined : { body: json ?? 'x', type };
    try {
      const answer = await this.#call(
        route.method.toUpperCase(),
        `${path}${query.size > 0 ? `?${query}` : ''}`,
        token,
        sent,
      );
      return `${answer.status} ${answer.body?.code ?? ''}`.trim();
    } catch (error) {
      return (error as Error).name;
    }
  }

  async runBackground(): Promise<void> {
    for (const cron of ['* * * * *', '17 3 * * *']) {
      const outcome = await this.#server.runCron(cron).then(
        () => 'ok',
        (error: unknown) => String(error),
      );
      this.#answers.set(`cron ${cron}`, outcome);
    }
    await this.#receive(this.#other, 'walked-later');
    // Mail between the two is checked, signed and sent by the queue and by alarms.
    const body = JSON.stringify({ to: [{ email: this.#other.email }], subject: 'from-other', body: 'x' });
    const sent = await this.#call('POST', '/v1/messages', this.#other.token, { body });
    this.#answers.set('background send', String(sent.status));
  }

  get answers(): ReadonlyMap<string, string> {
    return this.#answers;
  }
}

/**
 * Walks through a Worker of one version whose objects are of another one.
 * @param isWanted decides by method and path whether to make a call.
 */
export async function walkVersions(
  { worker, objects, renamed }: Mix,
  isWanted: (name: string) => boolean = () => true,
): Promise<Walked> {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-versions-'));
  const last = unpackLast(mkdtempSync(join(folder, 'script-')), renamed);
  const pathOf = (version: Version) => (version === 'last' ? last : join(WORKER_BUNDLE, 'index.js'));
  const lines: string[] = [];
  const root = 'root-of-walk';
  const server = await startLocalServer({
    host: '127.0.0.1',
    port: 0,
    stateDirectory: join(folder, 'state'),
    vars: {
      ...{ ROOT_TOKEN: root, MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), MAIL_DOMAINS: 'example.test' },
      ...{ REGISTRATION: 'open', LEADERBOARD_SHARDS: '2', MAIL_HOLD_SECONDS: '0' },
      ...{ REQUESTS_PER_USER: '1000000', REQUESTS_PER_CLIENT: '1000000' },
    },
    scriptPath: pathOf(worker),
    ...(worker === objects ? {} : { objectsScriptPath: pathOf(objects) }),
    rateLimits: { RATE_LIMIT_AUTH: 100_000, RATE_LIMIT_USER: 100_000, RATE_LIMIT_CLIENT: 100_000 },
    withoutCron: true,
    printLog: (line) => lines.push(line),
  });
  try {
    const walk = new Walk(server, root);
    await walk.furnish();
    await walk.callRoutes((name) => !name.startsWith('DELETE') && isWanted(name));
    await walk.runBackground();
    await walk.callRoutes((name) => name.startsWith('DELETE') && isWanted(name));
    return { answers: walk.answers, ...readLog(lines) };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function readLog(lines: readonly string[]): Pick<Walked, 'errors' | 'missing'> {
  const errors = new Map<string, number>();
  for (const line of lines) {
    const event = /"level":"error","event":"(\w+)"/.exec(line)?.[1];
    if (event !== undefined) errors.set(event, (errors.get(event) ?? 0) + 1);
  }
  const missing = lines.filter((line) => /no call is named|does not implement the method|is not a function/.test(line));
  return { errors, missing };
}

/** Routes of this release that objects of the last one cannot serve. They are 503 or wait until the objects run the new code. */
const NEW_ROUTES: Readonly<Record<string, string>> = {
  'POST /v1/seasons/{season}/shards/{shard}/accept-loss': '503 unavailable',
  'POST /v1/boards/{board}/seasons/{season}/shards/{shard}/accept-loss': '503 unavailable',
  'POST /v1/seasons/{season}/shards/{shard}/restore': '503 unavailable',
  'POST /v1/boards/{board}/seasons/{season}/shards/{shard}/restore': '503 unavailable',
  'DELETE /v1/scores/{user_id}': '202',
  'DELETE /v1/boards/{board}/scores/{user_id}': '202',
  'POST /v1/accounts/{user_id}/bookmark': '503 upgrade_pending',
  'POST /v1/accounts/{user_id}/restore': '503 upgrade_pending',
  'POST /v1/accounts/{user_id}/replay': '503 upgrade_pending',
  'POST /v1/outbound/complaints/{user_id}/release': '503 upgrade_pending',
  'GET /v1/import/pulls': '503 upgrade_pending',
  'GET /v1/mail/trace': '503 upgrade_pending',
  'GET /v1/me/waiting-messages': '503 upgrade_pending',
};

/** Routes for mail programs: they need calls that objects of the last release lack. */
const isPending = (name: string, answer: string): boolean =>
  answer === NEW_ROUTES[name] || (/ \/v1\/imap\b/.test(name) && answer === '503 upgrade_pending');

/** Finds the calls that a mixed deployment answered with an error of the server, except the routes that are new. */
export const findFailures = ({ answers }: Walked): string[] =>
  [...answers].flatMap(([name, answer]) =>
    /^5|Error|^not delivered/.test(answer) && !isPending(name, answer) ? [`${name}: ${answer}`] : [],
  );

/** Compares a mixed deployment with one of a single version. @returns the answers that differ, of the calls that both know. */
export function compareWalks(mixed: Walked, single: Walked): string[] {
  return [...mixed.answers].flatMap(([name, answer]) => {
    const right = single.answers.get(name);
    const isRight = right === undefined || right === answer || isPending(name, answer);
    return isRight ? [] : [`${name}: ${right} -> ${answer}`];
  });
}
