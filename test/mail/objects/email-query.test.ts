/**
 * Compares Email/query with a plain implementation of RFC 8621 §4.4 on random filters, sorts and windows, in a mailbox that changes.
 * Many messages have the same values, so that every comparator of a sort matters.
 */
import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { createRandom } from '../../../bench/mail/mailbox-text.ts';
import type { EmailQueryRequest, EmailRecord, MarkPatch } from '../../../durable-objects/mail/contract/jmap.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import type { EmailFilter, EmailSort, KeywordTest } from '../../../workers/mail/domain/email-filter.ts';
import { type FilteredMailbox, hasKeyword, holds } from '../../support/mail/filter-oracle.ts';
import { delivery } from '../../support/mail/messages.ts';

const MESSAGES = 60;
const QUERIES = 250;
const START = Date.UTC(2026, 0, 1);

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

const seed = Number((env as { SEED?: string }).SEED ?? Math.floor(Math.random() * 1e9));
const random = createRandom(seed);
const below = (count: number) => Math.floor(random() * count);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;

let mailbox: MailboxRpc;
let folders: readonly string[] = [];
beforeEach(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const { folders: all } = value(await mailbox.readJmapFolders(false));
  folders = all.map(({ folderId }) => folderId);
  for (let n = 0; n < MESSAGES; n += 1) {
    const parent = below(n + 1);
    await mailbox.storeMessage(
      delivery(
        {
          subject: pick(['one', 'Re: one', 'Two', 'two']),
          messageId: `<${n}@x.test>`,
          inReplyTo: parent < n && n % 3 > 0 ? `<${parent}@x.test>` : null,
          from: pick([null, { name: 'ann', email: 'z@x.test' }, { name: '', email: 'Bob@x.test' }]),
          to: pick([[], [{ name: 'Čen', email: 'c@x.test' }], [{ name: 'dan', email: 'd@x.test' }]]),
          sentAt: pick([null, START, START + 5]),
          text: pick(['apple', 'apple pear', 'pear plum']),
        },
        {
          receivedAt: START + below(4),
          sizeBytes: 100 + below(3),
          folder: pick(folders),
          alsoIn: [pick(folders)],
          isRead: random() < 0.5,
          isFlagged: random() < 0.3,
          labels: pick([[], ['a'], ['a', 'b'], ['b']]),
        },
      ),
    );
  }
});

const TESTS: readonly KeywordTest[] = [
  { kind: 'flag', flag: 'isRead' },
  { kind: 'flag', flag: 'isFlagged' },
  { kind: 'label', label: 'a' },
  { kind: 'label', label: 'none' },
];

function makeCondition(): EmailFilter {
  return pick<() => EmailFilter>([
    () => ({ kind: 'in', folderId: pick([...folders, 'unknown']) }),
    () => ({ kind: 'in_other_than', folderIds: [pick(folders), pick(folders)] }),
    () => ({ kind: pick(['before', 'after']), time: START + below(5) }),
    () => ({ kind: pick(['min_size', 'max_size']), bytes: 100 + below(4) }),
    () => ({ kind: 'keyword', test: pick(TESTS), scope: pick(['message', 'all', 'some', 'none']) }),
    () => ({ kind: 'text', place: pick(['any', 'subject']), text: pick(['one', 'two', 'two one']), match: 'phrase' }),
  ])();
}
const makeFilter = (depth: number): EmailFilter =>
  depth === 0 || random() < 0.4
    ? { kind: 'and', of: Array.from({ length: 1 + below(3) }, makeCondition) }
    : { kind: pick(['and', 'or', 'none']), of: Array.from({ length: below(4) }, () => makeFilter(depth - 1)) };

const makeSort = (): EmailSort =>
  random() < 0.3
    ? {
        by: 'keyword',
        isAscending: random() < 0.5,
        keyword: { test: pick(TESTS), scope: pick(['message', 'all', 'some']) },
      }
    : { by: pick(['receivedAt', 'sentAt', 'size', 'from', 'to', 'subject']), isAscending: random() < 0.5 };

class Oracle {
  /** Newest first. */
  readonly #mailbox: FilteredMailbox;

  constructor(emails: readonly EmailRecord[]) {
    const unknown = { body: '', fileNames: [], headers: [], isSnoozed: false, isMuted: false };
    this.#mailbox = { emails: emails.map((email) => ({ ...email, ...unknown })), hiddenFolderIds: [] };
  }

  query({ filter, sort, collapseThreads, ...window }: EmailQueryRequest) {
    const found = this.#mailbox.emails.filter((email) => filter === null || holds(this.#mailbox, email, filter));
    const isOldestFirst = sort[0]?.by === 'receivedAt' && sort[0].isAscending;
    const sorted = (isOldestFirst ? found.reverse() : found).toSorted((a, b) => {
      for (const each of sort.length > 0 ? sort : [{ by: 'receivedAt', isAscending: false } as const]) {
        const [left, right] = [this.#key(a, each), this.#key(b, each)];
        if (left !== right) return left < right === each.isAscending ? -1 : 1;
      }
      return 0;
    });
    const threads = new Set<string>();
    const shown = sorted.filter(({ threadId }) => {
      const isFirst = !threads.has(threadId);
      threads.add(threadId);
      return isFirst || !collapseThreads;
    });
    const ids = shown.map(({ id }) => id);
    const at = window.anchor === null ? -1 : ids.indexOf(window.anchor);
    if (window.anchor !== null && at < 0) return 'anchor_not_found';
    const from = window.anchor === null ? window.position : at + window.anchorOffset;
    const start = Math.max(0, window.anchor === null && from < 0 ? ids.length + from : from);
    return {
      position: start,
      ids: ids.slice(start, start + window.limit),
      total: window.calculateTotal ? ids.length : null,
    };
  }

  #key(email: EmailRecord, { by, keyword }: EmailSort): string | number {
    const nameOf = (person: { name: string; email: string } | null | undefined) =>
      (person?.name || person?.email || '').normalize('NFKD').toUpperCase();
    switch (by) {
      case 'receivedAt':
        return email.receivedAt;
      case 'sentAt':
        return email.sentAt ?? email.receivedAt;
      case 'size':
        return email.sizeBytes;
      case 'from':
        return nameOf(email.from);
      case 'to':
        return nameOf(email.to[0]);
      case 'subject':
        return email.subject.replace(/^Re: /, '').toUpperCase();
      case 'keyword':
        return keyword ? Number(hasKeyword(this.#mailbox, email, keyword.test, keyword.scope)) : 0;
    }
  }
}

const makeMarks = (): MarkPatch => ({
  isRead: random() < 0.5,
  isFlagged: random() < 0.5,
  labels: { [pick(['a', 'b'])]: random() < 0.5 },
  replacesLabels: false,
});

it(`answers as RFC 8621 says, while messages change (seed ${seed})`, async () => {
  for (let n = 0; n < QUERIES; n += 1) {
    const before = value(await mailbox.readEmails(null)).emails;
    if (n % 10 === 9) {
      const marks = Object.fromEntries(
        Array.from({ length: 3 }, () => [
          pick(before).id,
          { marks: makeMarks(), folders: { [pick(folders)]: true }, replacesFolders: random() < 0.5 },
        ]),
      );
      await mailbox.setEmails({ ifInState: null, updates: marks, destroys: random() < 0.3 ? [pick(before).id] : [] });
    }
    const { emails } = value(await mailbox.readEmails(null));
    const request: EmailQueryRequest = {
      filter: random() < 0.1 ? null : makeFilter(2),
      sort: Array.from({ length: below(4) }, makeSort),
      collapseThreads: random() < 0.3,
      position: pick([0, 0, 1, 5, 100, -3, -100]),
      anchor: random() < 0.3 ? pick(emails).id : null,
      anchorOffset: pick([0, 1, -2, -100]),
      limit: pick([0, 1, 5, 1_000]),
      calculateTotal: random() < 0.5,
    };
    const { found } = value(await mailbox.queryEmails(request));
    expect([request, found]).toEqual([request, new Oracle(emails).query(request)]);
  }
});
