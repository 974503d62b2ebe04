/** One card: GET, PUT and DELETE (RFC 6352 §6.3, RFC 9110 §13). */
import type { Card, CardCondition, CardError } from '../../../durable-objects/mail/contract/cards.ts';
import type { NoMailbox } from '../../../durable-objects/mail/contract/mailbox.ts';
import { ProblemError } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { isUnreachable } from '../bindings/mailbox.ts';
import { readVcard } from '../domain/vcard.ts';
import { MAILBOX_UNAVAILABLE, toMailProblem } from '../schemas/errors.ts';
import { CARDDAV, DAV, sendPrecondition, toHref } from './multistatus.ts';
import { toCardPath } from './places.ts';
import { CARD_BYTES_MAX, toEtag } from './properties.ts';
import { askBook, type Book } from './reports.ts';

const CARD_TYPE = 'text/vcard; charset=utf-8';
/** Types that programs send cards with. Without a type, the body says what it is. */
const ACCEPTED_TYPE = /^(?:text\/(?:x-)?vcard|text\/directory)\s*(?:;|$)/i;

/** @returns the card; null if there is none. */
export async function findCard({ mailbox }: Book, name: string): Promise<Card | null> {
  return (await askBook(mailbox.readCards([name], CARD_BYTES_MAX))).cards[0] ?? null;
}

export async function getCard(book: Book, name: string, headers: Headers): Promise<Response | null> {
  const card = await findCard(book, name);
  if (card?.vcard == null) return null;
  const etag = toEtag(card.state);
  const known = (headers.get('if-none-match') ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  if (known.includes(etag) || known.includes('*')) return new Response(null, { status: 304, headers: { etag } });
  return new Response(card.vcard, {
    headers: {
      etag,
      'content-type': CARD_TYPE,
      'content-disposition': 'attachment',
      'content-security-policy': "sandbox; default-src 'none'",
    },
  });
}

/** Stores a card as it was sent, so that its ETag is that of the bytes sent. */
export async function putCard(book: Book, name: string, headers: Headers, body: Uint8Array): Promise<Response> {
  const condition = parseCondition(headers);
  if (condition === null) return new Response(null, { status: 412 });
  const type = headers.get('content-type') ?? '';
  if (type !== '' && !ACCEPTED_TYPE.test(type)) return refuse(415, 'supported-address-data');
  if (body.length > CARD_BYTES_MAX) return refuse(403, 'max-resource-size');
  const text = decode(body);
  const facts = text === null ? err('not UTF-8') : readVcard(text);
  if (text === null || !facts.ok) return refuse(403, 'valid-address-data');
  const saved = await ask(book.mailbox.saveCard({ name, vcard: text }, condition));
  if (!saved.ok) return toRefusal(book, saved.error);
  const { state, isNew } = saved.value;
  return new Response(null, { status: isNew ? 201 : 204, headers: { etag: toEtag(state) } });
}

export async function deleteCard(book: Book, name: string, headers: Headers): Promise<Response | null> {
  const condition = parseCondition(headers);
  if (condition === null) return new Response(null, { status: 412 });
  const gone = await ask(book.mailbox.deleteCard(name, condition));
  if (gone.ok) return new Response(null, { status: 204 });
  return gone.error.kind === 'not_found' ? null : toRefusal(book, gone.error);
}

const refuse = (status: 403 | 409 | 415 | 507, name: string, xml = ''): Response =>
  sendPrecondition(status, { namespace: CARDDAV, name }, xml);

function toRefusal({ owner }: Book, error: CardError): Response {
  switch (error.kind) {
    case 'uid_conflict':
      return refuse(409, 'no-uid-conflict', toHref(toCardPath(owner.accountId, error.name)));
    case 'too_many':
      return sendPrecondition(507, { namespace: DAV, name: 'quota-not-exceeded' });
    case 'condition_failed':
    case 'not_found':
      return new Response(null, { status: 412 });
  }
}

async function ask<T>(call: Promise<Result<T, CardError | NoMailbox>>): Promise<Result<T, CardError>> {
  const answer = await call.catch((error: unknown) => {
    throw isUnreachable(error) ? new ProblemError(MAILBOX_UNAVAILABLE, error) : error;
  });
  if (answer.ok) return ok(answer.value);
  if (answer.error.kind === 'no_mailbox') throw new ProblemError(toMailProblem(answer.error), undefined);
  return err(answer.error);
}

/** Parses `If-Match` and `If-None-Match`. @returns null for a condition that no card meets. */
function parseCondition(headers: Headers): CardCondition | null {
  const match = headers.get('if-match');
  const none = headers.get('if-none-match');
  if (none !== null && none.trim() !== '*') return null;
  const ifAbsent = none !== null;
  if (match === null) return { ifMatch: null, ifAbsent };
  if (match.trim() === '*') return { ifMatch: [], ifAbsent };
  const states = match.split(',').flatMap((each) => {
    const state = /^\s*"(\d{1,15})"\s*$/.exec(each)?.[1];
    return state === undefined ? [] : [Number(state)];
  });
  return states.length === 0 ? null : { ifMatch: states, ifAbsent };
}

/** @returns null if the bytes are not UTF-8. */
function decode(body: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return null;
  }
}
