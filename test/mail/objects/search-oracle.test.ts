/**
 * Runs random filters through both front ends of the search, `q=` and `Email/query`, and compares the hits with a plain test of every
 * message (`test/support/mail/filter-oracle.ts`).
 */
import { env } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import { createRandom } from '../../../bench/mail/mailbox-text.ts';
import type { SearchPage } from '../../../durable-objects/mail/contract/search.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { type EmailFilter, not, type TextMatch, type TextPlace } from '../../../workers/mail/domain/email-filter.ts';
import { type FilteredMailbox, holds } from '../../support/mail/filter-oracle.ts';
import { delivery } from '../../support/mail/messages.ts';

const MESSAGES = 240;
const FILTERS = 400;
const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const WORDS = ['invoice', 'invoices', 'involved', 'plan', 'plans', 'planet', 'street', 'x', 'to', 'total'];
const LABELS = ['red', 'blue'];

const seed = Number((env as { SEED?: string }).SEED ?? Math.floor(Math.random() * 1e9));
const random = createRandom(seed);
const below = (count: number) => Math.floor(random() * count);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
const words = (count: number) => Array.from({ length: count }, () => pick(WORDS)).join(' ');
const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

let mailbox: MailboxRpc;
let folderIds: readonly string[] = [];
let known: FilteredMailbox = { emails: [], hiddenFolderIds: [] };

beforeAll(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const { folders } = value(await mailbox.readJmapFolders(false));
  folderIds = folders.filter(({ role }) => role !== 'all' && role !== 'flagged').map(({ folderId }) => folderId);
  const extras = new Map<string, { body: string; fileNames: string[]; headers: { name: string; value: string }[] }>();
  for (let n = 0; n < MESSAGES; n += 1) {
    const extra = {
      body: words(6),
      fileNames: random() < 0.2 ? [`${words(2)}.pdf`] : [],
      headers: random() < 0.3 ? [{ name: 'X-Mailer', value: pick(['Alpha 1', 'Beta 2']) }] : [],
    };
    const stored = value(
      await mailbox.storeMessage(
        delivery(
          {
            subject: words(2),
            text: extra.body,
            headers: extra.headers,
            attachments: extra.fileNames.map((fileName) => ({
              fileName,
              contentType: 'application/pdf',
              sizeBytes: 5,
              isInline: false,
              contentId: null,
              r2Key: 'mail/u/x',
            })),
            messageId: `<${n}@x.test>`,
            inReplyTo: n > 0 && random() < 0.5 ? `<${below(n)}@x.test>` : null,
            from: pick([{ name: 'Ann', email: 'ann@plan.test' }, { name: 'Bob', email: 'bob@street.test' }, null]),
            cc: pick([[], [{ name: 'Total', email: 'c@x.test' }]]),
            bcc: pick([[], [{ name: 'Involved', email: 'd@x.test' }]]),
          },
          {
            receivedAt: START + n * MINUTE,
            sizeBytes: 1_000 + below(3) * 1_000,
            folder: pick(folderIds),
            alsoIn: random() < 0.2 ? [pick(folderIds)] : [],
            isRead: random() < 0.5,
            isFlagged: random() < 0.2,
            labels: pick([[], [], ['red'], ['red', 'blue']]),
          },
        ),
      ),
    );
    extras.set(stored.messageId, extra);
  }
  const { emails: before } = value(await mailbox.readEmails(null));
  const snoozed = [...Array(5)].map(() => pick(before).id);
  await mailbox.patchMessages(snoozed, { snoozedUntil: Date.now() + 30 * 86_400_000 });
  const muted = [...Array(3)].map(() => pick(before).threadId);
  for (const threadId of muted) value(await mailbox.setMuted(threadId, true));
  const { emails } = value(await mailbox.readEmails(null));
  const summaries = await readAll('in:any');
  known = {
    emails: emails.map((email) => {
      const summary = summaries.get(email.id);
      const extra = extras.get(email.id);
      if (!extra || !summary) throw new Error('an email is missing');
      return { ...email, ...extra, isSnoozed: summary.snoozedUntil !== null, isMuted: muted.includes(email.threadId) };
    }),
    hiddenFolderIds: folders.filter(({ role }) => role === 'junk' || role === 'trash').map(({ folderId }) => folderId),
  };
});

/** Pages a search to its end. @returns its hits by id, newest first. */
async function readAll(query: string) {
  const hits = new Map<string, { snoozedUntil: number | null }>();
  let page: SearchPage | null = null;
  do {
    const found = await mailbox.search({ query, sort: 'newest', page, limit: 100 });
    const answer = value(found);
    for (const { message } of answer.hits) hits.set(message.messageId, message);
    page = answer.next;
  } while (page !== null);
  return hits;
}

/** A filter with the query that means the same; null if the search language cannot express it. */
interface Asked {
  readonly filter: EmailFilter;
  readonly query: string | null;
}

const PLACES: Readonly<Record<TextPlace, string | null>> = {
  any: '',
  from: 'from:',
  to: 'to:',
  cc: 'cc:',
  bcc: 'bcc:',
  subject: 'subject:',
  files: 'filename:',
  body: null,
};

function makeText(): Asked {
  const place = pick(Object.keys(PLACES) as TextPlace[]);
  const match: TextMatch = pick(['word', 'prefix', 'phrase']);
  const cut = () => pick(WORDS).slice(0, 1 + below(7));
  const text = match === 'phrase' ? words(1 + below(2)) : match === 'prefix' ? cut() : pick([pick(WORDS), cut()]);
  const shown = match === 'phrase' ? `"${text}"` : match === 'prefix' ? `${text}*` : text;
  return { filter: { kind: 'text', place, text, match }, query: PLACES[place] === null ? null : PLACES[place] + shown };
}

const FLAGS = {
  isRead: 'read',
  isFlagged: 'flagged',
  isAnswered: 'answered',
  isForwarded: 'forwarded',
  isDraft: 'draft',
};

function makeKeyword(): Asked {
  const scope = pick(['message', 'message', 'message', 'all', 'some', 'none'] as const);
  const isLabel = random() < 0.4;
  const label = pick([...LABELS, 'nothing']);
  const flag = pick(Object.keys(FLAGS) as (keyof typeof FLAGS)[]);
  return {
    filter: { kind: 'keyword', test: isLabel ? { kind: 'label', label } : { kind: 'flag', flag }, scope },
    query: scope !== 'message' ? null : isLabel ? `label:${label}` : `is:${FLAGS[flag]}`,
  };
}

function makeLeaf(): Asked {
  const time = START + below(MESSAGES) * MINUTE;
  const date = new Date(time).toISOString();
  const folderId = pick(folderIds);
  const { threadId } = pick(known.emails);
  return pick<() => Asked>([
    makeText,
    makeText,
    makeText,
    makeKeyword,
    makeKeyword,
    () => ({ filter: { kind: 'in', folderId }, query: `in:${folderId}` }),
    () => ({ filter: { kind: 'in_other_than', folderIds: [folderId, pick(folderIds)] }, query: null }),
    () => ({ filter: { kind: 'in', folderId: 'unknown' }, query: null }),
    () => ({ filter: { kind: 'visible' }, query: 'in:all' }),
    () => ({ filter: { kind: 'snoozed' }, query: 'is:snoozed' }),
    () => ({ filter: { kind: 'muted' }, query: 'is:muted' }),
    () => ({ filter: { kind: 'thread', threadId }, query: `thread:${threadId}` }),
    () => ({ filter: { kind: 'before', time }, query: `before:${date}` }),
    () => ({ filter: { kind: 'after', time }, query: `after:${date}` }),
    () => ({ filter: { kind: 'min_size', bytes: 2_000 }, query: 'larger:1999' }),
    () => ({ filter: { kind: 'max_size', bytes: 2_000 }, query: 'smaller:2000' }),
    () => ({ filter: { kind: 'has_attachment', value: true }, query: 'has:attachment' }),
    () => ({ filter: { kind: 'has_attachment', value: false }, query: '-has:attachment' }),
    () => ({ filter: { kind: 'header', name: 'X-Mailer', text: 'ALPHA' }, query: 'header:X-Mailer:ALPHA' }),
    () => ({ filter: { kind: 'header', name: 'x-mailer', text: null }, query: 'header:x-mailer' }),
  ])();
}

function makeAsked(depth: number): Asked {
  if (depth === 0 || random() < 0.3) return makeLeaf();
  const kind = pick(['and', 'and', 'or', 'none'] as const);
  if (kind === 'none') {
    const { filter, query } = makeAsked(depth - 1);
    return { filter: not(filter), query: query && `NOT (${query})` };
  }
  const parts = Array.from({ length: 1 + below(3) }, () => makeAsked(depth - 1));
  const queries = parts.flatMap(({ query }) => query ?? []);
  return {
    filter: { kind, of: parts.map(({ filter }) => filter) },
    query: queries.length < parts.length ? null : `(${queries.join(kind === 'and' ? ' ' : ' OR ')})`,
  };
}

it(`finds the same messages as a test of each, by both front ends (seed ${seed})`, async () => {
  let compared = 0;
  for (let n = 0; n < FILTERS; n += 1) {
    const { filter, query } = makeAsked(3);
    const expected = known.emails
      .filter((email) => holds(known, email, filter))
      .toSorted((a, b) => b.receivedAt - a.receivedAt)
      .map(({ id }) => id);
    const sort = pick([[], [{ by: 'receivedAt', isAscending: true }]] as const);
    const { found } = value(
      await mailbox.queryEmails({
        filter,
        sort,
        collapseThreads: false,
        position: 0,
        anchor: null,
        anchorOffset: 0,
        limit: MESSAGES,
        calculateTotal: true,
      }),
    );
    const ids = sort.length > 0 ? expected.toReversed() : expected;
    expect([filter, found]).toEqual([filter, { position: 0, ids, total: ids.length }]);
    if (query === null) continue;
    // Any folder is named, so that Junk and Trash are included.
    expect([query, [...(await readAll(`${query} in:any`)).keys()]]).toEqual([query, expected]);
    compared += 1;
  }
  expect(compared).toBeGreaterThan(FILTERS / 4);
});
