/**
 * Makes the answers of PROPFIND and REPORT, part by part: each part is a page of cards of the mailbox. A book of 128 MB therefore needs
 * the memory of one page.
 */
import type { CardChangePage, CardChangePlace, CardPage } from '../../../durable-objects/mail/contract/cards.ts';
import type { NoMailbox } from '../../../durable-objects/mail/contract/mailbox.ts';
import { ProblemError } from '../../shared/json/problem.ts';
import type { Result } from '../../shared/pure/result.ts';
import { isUnreachable, type MailboxRpc } from '../bindings/mailbox.ts';
import { meetsFilter } from '../domain/card-filter.ts';
import { MAILBOX_UNAVAILABLE, toMailProblem } from '../schemas/errors.ts';
import { toStatusResponse } from './multistatus.ts';
import { parsePlace, toBookPath, toCardPath } from './places.ts';
import { describeCard, describeCollection, type Owner, toSyncToken, wantsText } from './properties.ts';
import type { Report, Wanted } from './requests.ts';

const PAGE_CARDS = 500;
const PAGE_BYTES = 2 * 1024 * 1024;

export interface Book {
  readonly owner: Owner;
  readonly mailbox: MailboxRpc;
}

/** @throws ProblemError if the mailbox cannot be reached, or there is none. */
export async function askBook<T>(answer: Promise<Result<T, NoMailbox>>): Promise<T> {
  const found = await answer.catch((error: unknown) => {
    throw isUnreachable(error) ? new ProblemError(MAILBOX_UNAVAILABLE, error) : error;
  });
  if (!found.ok) throw new ProblemError(toMailProblem(found.error), undefined);
  return found.value;
}

const boundsFor = (wanted: Wanted) => ({ limit: PAGE_CARDS, bytesMax: wantsText(wanted) ? PAGE_BYTES : null });

/** Describes the book, and its cards if `isDeep`. */
export async function* describeBook({ owner, mailbox }: Book, wanted: Wanted, isDeep: boolean): AsyncGenerator<string> {
  const { state } = await askBook(mailbox.readCardBook(isDeep));
  yield describeCollection(owner, 'book', wanted, state);
  if (!isDeep) return;
  let after: string | null = '';
  while (after !== null) {
    const { cards, next }: CardPage = await askBook(mailbox.listCards(after, boundsFor(wanted)));
    yield cards.map((card) => describeCard(owner, card, wanted)).join('');
    after = next;
  }
}

export function makeReport(book: Book, report: Report, since: CardChangePlace): AsyncGenerator<string> {
  switch (report.kind) {
    case 'multiget':
      return getCards(book, report);
    case 'query':
      return queryCards(book, report);
    case 'sync':
      return listChanges(book, report, since);
  }
}

type ReportOf<Kind extends Report['kind']> = Extract<Report, { readonly kind: Kind }>;

async function* getCards({ owner, mailbox }: Book, { hrefs, wanted }: ReportOf<'multiget'>): AsyncGenerator<string> {
  const names = new Set<string>();
  for (const href of hrefs) {
    const place = parsePlace(href);
    if (place?.kind === 'card' && place.accountId === owner.accountId) names.add(place.name);
    else yield toStatusResponse(href, 404);
  }
  let left = [...names];
  while (left.length > 0) {
    const asked = left.slice(0, PAGE_CARDS);
    const { cards, read } = await askBook(mailbox.readCards(asked, PAGE_BYTES));
    const known = new Map(cards.map((card) => [card.name, card]));
    yield asked
      .slice(0, read)
      .map((name) => {
        const card = known.get(name);
        return card ? describeCard(owner, card, wanted) : toStatusResponse(toCardPath(owner.accountId, name), 404);
      })
      .join('');
    left = left.slice(read);
  }
}

async function* queryCards({ owner, mailbox }: Book, report: ReportOf<'query'>): AsyncGenerator<string> {
  const { wanted, filter, limit } = report;
  await askBook(mailbox.readCardBook(true));
  const bounds = { limit: PAGE_CARDS, bytesMax: PAGE_BYTES };
  let found = 0;
  let after: string | null = '';
  while (after !== null) {
    const { cards, next }: CardPage = await askBook(mailbox.listCards(after, bounds));
    const meeting = cards.filter(({ vcard }) => vcard !== null && meetsFilter(vcard, filter));
    const given = limit === null ? meeting : meeting.slice(0, limit - found);
    found += given.length;
    yield given.map((card) => describeCard(owner, card, wanted)).join('');
    if (given.length < meeting.length) {
      // RFC 6352 §8.6.1: the book itself says that there are more.
      yield toStatusResponse(toBookPath(owner.accountId), 507);
      return;
    }
    after = next;
  }
}

/** Lists what changed since a place; at first, which cards there are (RFC 6578 §3.4). */
async function* listChanges(
  { owner, mailbox }: Book,
  { wanted, limit }: ReportOf<'sync'>,
  since: CardChangePlace,
): AsyncGenerator<string> {
  const isFirst = since.state === 0;
  const { state } = await askBook(mailbox.readCardBook(isFirst));
  const bounds = boundsFor(wanted);
  let found = 0;
  let place: CardChangePlace | null = since;
  while (place !== null && (limit === null || found < limit)) {
    const pageMax = limit === null ? bounds.limit : Math.min(bounds.limit, limit - found);
    const page: CardChangePage = await askBook(mailbox.listCardChanges(place, { ...bounds, limit: pageMax }));
    found += page.changes.length;
    yield page.changes
      .filter(({ isDeleted }) => !(isFirst && isDeleted))
      .map((card) => {
        const path = toCardPath(owner.accountId, card.name);
        return card.isDeleted ? toStatusResponse(path, 404) : describeCard(owner, card, wanted);
      })
      .join('');
    place = page.next;
  }
  if (place !== null) yield toStatusResponse(toBookPath(owner.accountId), 507);
  yield `<d:sync-token>${toSyncToken(place ?? { state, name: '' })}</d:sync-token>`;
}
