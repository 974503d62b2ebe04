/**
 * CardDAV (RFC 6352): contacts of the mailbox for phones and computers. Programs authenticate with an app token as the password of
 * Basic authentication.
 *
 * A request → its place (`places.ts`) → the caller is its owner → the method: PROPFIND and REPORT (`requests.ts`, `reports.ts`,
 * `properties.ts`), GET, PUT and DELETE of a card (`cards.ts`).
 *
 * Gaps: one book for each person, which cannot be renamed; no MKCOL, COPY, MOVE, LOCK and PROPPATCH; a card is answered whole and in
 * the version in which it was stored, whatever part or version a request asks for.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { authorizeFirst, requireMailClient, type UserPrincipal } from '../../identity/index.ts';
import { type JsonApiEnv, sendProblem } from '../../shared/json/json-api.ts';
import { readLimited, readUpload } from '../../shared/json/limited-body.ts';
import { problem } from '../../shared/json/problem.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import { deleteCard, findCard, getCard, putCard } from './cards.ts';
import { CARDDAV, DAV, sendMultistatus, sendPrecondition } from './multistatus.ts';
import { type Place, parsePlace, ROOT, WELL_KNOWN_PATH } from './places.ts';
import { CARD_BYTES_MAX, describeCard, describeCollection, parseSyncToken } from './properties.ts';
import { askBook, type Book, describeBook, makeReport } from './reports.ts';
import { parsePropfind, parseReport } from './requests.ts';

/** A request of 20,000 cards by name has 3 MB. */
const REQUEST_BYTES_MAX = 4 * 1024 * 1024;
/** If a body takes longer than this to arrive, the caller is looked up again. */
const SLOW_BODY_MS = 1_000;
const METHODS = 'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, REPORT';
const DAV_HEADERS = { dav: '1, 3, addressbook', allow: METHODS };
const MALFORMED = problem(400, 'invalid_request', 'The XML of the body is malformed, or asks for too much.');
const TOO_LARGE = problem(413, 'request_too_large', `The body exceeds ${REQUEST_BYTES_MAX} bytes.`);
const NOT_ALLOWED = problem(405, 'method_not_allowed', `This path accepts at most ${METHODS}.`);

export function addCardDav(api: OpenAPIHono<JsonApiEnv>): void {
  api.all(WELL_KNOWN_PATH, (c) => c.body(null, 301, { location: ROOT }));
  for (const path of [ROOT.slice(0, -1), ROOT, `${ROOT}*`])
    api.all(path, addDavHeaders, authorizeFirst(requireMailClient), answer);
}

/** Answers OPTIONS, and adds the headers by which programs know the server and ask for a password. */
const addDavHeaders: MiddlewareHandler<JsonApiEnv> = async (c, next) => {
  if (c.req.method === 'OPTIONS') return c.body(null, 204, DAV_HEADERS);
  await next();
  for (const [name, value] of Object.entries(DAV_HEADERS)) c.res.headers.set(name, value);
  if (c.res.status === 401) c.res.headers.set('www-authenticate', 'Basic realm="CardDAV", charset="UTF-8"');
  return undefined;
};

async function answer(c: Context<JsonApiEnv>): Promise<Response> {
  const caller = await requireMailClient(c);
  if (!caller.ok) return sendProblem(c, caller.error);
  const place = parsePlace(c.req.path);
  const isOwn = place !== null && (place.kind === 'root' || place.accountId === caller.value.userId);
  return isOwn ? answerAt(c, place, caller.value) : sendProblem(c, NOT_FOUND);
}

async function answerAt(c: Context<JsonApiEnv>, place: Place, user: UserPrincipal): Promise<Response> {
  const owner = { accountId: user.userId, name: user.email ?? user.userName };
  const book = { owner, mailbox: openMailbox(c.env, user.userId) };
  const { method } = c.req;
  const headers = c.req.raw.headers;
  if (method === 'PROPFIND') return answerPropfind(c, book, place);
  if (method === 'REPORT' && place.kind === 'book') return answerReport(c, book);
  if (place.kind !== 'card') return sendProblem(c, NOT_ALLOWED);
  if (method === 'GET' || method === 'HEAD')
    return (await getCard(book, place.name, headers)) ?? sendProblem(c, NOT_FOUND);
  if (method === 'DELETE') return (await deleteCard(book, place.name, headers)) ?? sendProblem(c, NOT_FOUND);
  if (method !== 'PUT') return sendProblem(c, NOT_ALLOWED);
  const body = await readBody(c, CARD_BYTES_MAX + 1);
  return body instanceof Response ? body : putCard(book, place.name, headers, body);
}

/** Reads the body. @returns the refusal if the caller's credential ended while it arrived. A longer body is cut off. */
async function readBody(c: Context<JsonApiEnv>, bytesMax: number): Promise<Uint8Array | Response> {
  const begunAt = Date.now();
  const body = await readLimited(readUpload(c.req.raw.body), bytesMax);
  if (Date.now() - begunAt < SLOW_BODY_MS) return body;
  const refusal = await c.get('authorizeAgain')?.();
  return refusal ? sendProblem(c, refusal) : body;
}

async function readXmlBody(c: Context<JsonApiEnv>): Promise<string | Response> {
  const body = await readBody(c, REQUEST_BYTES_MAX);
  if (body instanceof Response) return body;
  if (body.length > REQUEST_BYTES_MAX) return sendProblem(c, TOO_LARGE);
  return new TextDecoder().decode(body);
}

async function answerPropfind(c: Context<JsonApiEnv>, book: Book, place: Place): Promise<Response> {
  const depth = c.req.header('depth') ?? '0';
  if (depth !== '0' && depth !== '1') return sendPrecondition(403, { namespace: DAV, name: 'propfind-finite-depth' });
  const body = await readXmlBody(c);
  if (body instanceof Response) return body;
  const wanted = parsePropfind(body);
  if (wanted === null) return sendProblem(c, MALFORMED);
  if (place.kind === 'book') return sendMultistatus(describeBook(book, wanted, depth === '1'));
  if (place.kind === 'card') {
    const card = await findCard(book, place.name);
    return card ? sendMultistatus(partsOf(describeCard(book.owner, card, wanted))) : sendProblem(c, NOT_FOUND);
  }
  const child = depth === '0' ? null : ({ root: 'principal', principal: 'home', home: 'book' } as const)[place.kind];
  const { state } = child === 'book' ? await askBook(book.mailbox.readCardBook(false)) : { state: 0 };
  const described = [place.kind, ...(child === null ? [] : [child])].map((kind) =>
    describeCollection(book.owner, kind, wanted, state),
  );
  return sendMultistatus(partsOf(...described));
}

async function* partsOf(...parts: readonly string[]): AsyncGenerator<string> {
  yield* parts;
}

async function answerReport(c: Context<JsonApiEnv>, book: Book): Promise<Response> {
  const body = await readXmlBody(c);
  if (body instanceof Response) return body;
  const report = parseReport(body);
  if (!report.ok) {
    if (report.error === 'malformed') return sendProblem(c, MALFORMED);
    const isFilter = report.error === 'unknown_filter';
    const condition = isFilter
      ? { namespace: CARDDAV, name: 'supported-filter' }
      : { namespace: DAV, name: 'supported-report' };
    return sendPrecondition(403, condition);
  }
  const since = report.value.kind === 'sync' ? parseSyncToken(report.value.token) : { state: 0, name: '' };
  if (since === null || !(await isKnownState(book, since.state)))
    return sendPrecondition(403, { namespace: DAV, name: 'valid-sync-token' });
  return sendMultistatus(makeReport(book, report.value, since));
}

/** Whether all changes after a state are known. State 0 is that of a program which knows nothing. */
async function isKnownState({ mailbox }: Book, since: number): Promise<boolean> {
  if (since === 0) return true;
  const { state, floor } = await askBook(mailbox.readCardBook(false));
  return since >= floor && since <= state;
}
