/** Keywords of mail programs: flags, the mark for removal, and labels as they are. Pure. */
import type { ImapMarks, ImapMessage } from '../../../durable-objects/mail/contract/imap.ts';
import { DRAFT_KEYWORD, FLAG_KEYWORDS } from '../domain/keywords.ts';

const DELETED_KEYWORD = '$deleted';

export const toImapKeywords = (message: ImapMessage): string[] => [
  ...Object.entries(FLAG_KEYWORDS).flatMap(([keyword, flag]) => (message[flag] ? [keyword] : [])),
  ...(message.isDraft ? [DRAFT_KEYWORD] : []),
  ...(message.isDeleted ? [DELETED_KEYWORD] : []),
  ...message.labels,
];

/** Members of `ImapMarks` by their keyword. */
const MARKS = { ...FLAG_KEYWORDS, [DRAFT_KEYWORD]: 'isDraft', [DELETED_KEYWORD]: 'isDeleted' } as const;
const findMark = (keyword: string) => MARKS[keyword.toLowerCase() as keyof typeof MARKS];

/** Reads keywords to add and to remove. A keyword in both is added. */
export function toImapMarks(add: readonly string[], remove: readonly string[]): ImapMarks {
  const marks = (keywords: readonly string[], isSet: boolean) =>
    keywords.flatMap((keyword) => {
      const mark = findMark(keyword);
      return mark ? [[mark, isSet] as const] : [];
    });
  const labels = (keywords: readonly string[]) => keywords.filter((keyword) => !findMark(keyword));
  return {
    ...Object.fromEntries([...marks(remove, false), ...marks(add, true)]),
    addLabels: labels(add),
    removeLabels: labels(remove).filter((label) => !add.includes(label)),
  };
}
