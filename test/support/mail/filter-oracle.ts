/** A plain implementation of `EmailFilter`: tests every message alone, without an index. Texts must be of ASCII letters. */
import type { EmailRecord } from '../../../durable-objects/mail/contract/jmap.ts';
import type { EmailFilter, KeywordTest, TextFilter } from '../../../workers/mail/domain/email-filter.ts';

/** An email with what its record does not have. */
export interface FilteredEmail extends EmailRecord {
  readonly body: string;
  readonly fileNames: readonly string[];
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly isSnoozed: boolean;
  readonly isMuted: boolean;
}

export interface FilteredMailbox {
  readonly emails: readonly FilteredEmail[];
  /** Ids of Junk and Trash. */
  readonly hiddenFolderIds: readonly string[];
}

export function holds(mailbox: FilteredMailbox, email: FilteredEmail, filter: EmailFilter): boolean {
  const isIn = (each: EmailFilter) => holds(mailbox, email, each);
  switch (filter.kind) {
    case 'and':
      return filter.of.every(isIn);
    case 'or':
      return filter.of.some(isIn);
    case 'none':
      return !filter.of.some(isIn);
    case 'in':
      return email.folderIds.includes(filter.folderId);
    case 'in_other_than':
      return email.folderIds.some((id) => !filter.folderIds.includes(id));
    case 'visible':
      return email.folderIds.some((id) => !mailbox.hiddenFolderIds.includes(id));
    case 'snoozed':
      return email.isSnoozed;
    case 'muted':
      return email.isMuted;
    case 'thread':
      return email.threadId === filter.threadId;
    case 'before':
      return email.receivedAt < filter.time;
    case 'after':
      return email.receivedAt >= filter.time;
    case 'min_size':
      return email.sizeBytes >= filter.bytes;
    case 'max_size':
      return email.sizeBytes < filter.bytes;
    case 'has_attachment':
      return email.hasAttachment === filter.value;
    case 'keyword':
      return hasKeyword(mailbox, email, filter.test, filter.scope);
    case 'text':
      return hasText(email, filter);
    case 'header':
      return email.headers.some(
        ({ name, value }) =>
          name.toLowerCase() === filter.name.toLowerCase() &&
          value.toLowerCase().includes((filter.text ?? '').toLowerCase()),
      );
  }
}

/** @param scope whether the message has the keyword, or all, some or none of the messages in its thread. */
export function hasKeyword(
  { emails }: Pick<FilteredMailbox, 'emails'>,
  email: EmailRecord,
  test: KeywordTest,
  scope: 'message' | 'all' | 'some' | 'none',
): boolean {
  const has = (each: EmailRecord) => (test.kind === 'label' ? each.labels.includes(test.label) : each[test.flag]);
  if (scope === 'message') return has(email);
  const thread = emails.filter(({ threadId }) => threadId === email.threadId);
  return scope === 'all' ? thread.every(has) : thread.some(has) === (scope === 'some');
}

function hasText(email: FilteredEmail, { place, text, match }: TextFilter): boolean {
  const people = (list: readonly { name: string; email: string }[]) =>
    list.map((person) => `${person.name} ${person.email}`).join(' ');
  const places = {
    from: people(email.from ? [email.from] : []),
    to: people(email.to),
    cc: people(email.cc),
    bcc: people(email.bcc),
    subject: email.subject,
    body: email.body,
    files: email.fileNames.join(' '),
  };
  return (place === 'any' ? Object.values(places) : [places[place]]).some((stored) => {
    const words = wordsOf(stored);
    const wanted = wordsOf(text);
    return words.some((_, at) =>
      wanted.every((word, n) => isMatch(words[at + n] ?? '', word, n === wanted.length - 1)),
    );
  });

  function isMatch(word: string, wanted: string, isLast: boolean): boolean {
    if (word === wanted) return true;
    if (match === 'prefix' || (match === 'word' && wanted.length >= 3)) {
      if (isLast && word.startsWith(wanted)) return true;
    }
    const isAlone = wordsOf(text).length === 1;
    return match === 'word' && isAlone && wanted.length >= 4 && (word === `${wanted}s` || `${word}s` === wanted);
  }
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
