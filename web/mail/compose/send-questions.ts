/** Finds likely mistakes before a message is sent. Pure. */

import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import type { Writing } from './writing.ts';

const t = mailComposeTexts.window;

/** Words that announce an attachment, in the most frequent languages of this page's users. */
const MENTIONS_FILE =
  /\b(?:attach(?:ed|ing|ment|ments)?|enclosed|see the file|anbei|angehängt|im anhang|beigefügt|adjunt[oa]s?|adjuntar|ci-joint|pi[èe]ce jointe|in allegato|allegat[oaie])\b|添付/iu;

/** Returns the text that the user typed: without quoted lines and the signature. */
const ownText = (body: string): string =>
  (body.split(/^-- $/m)[0] ?? '')
    .split('\n')
    .filter((line) => !line.startsWith('>'))
    .join('\n');

/** Looks for likely mistakes. @returns a question for the user; null if nothing looks like a mistake. */
export function findSendQuestion(writing: Writing): string | null {
  const ownFiles = writing.attachments.filter((upload) => !upload.isInline);
  const isFileMissing = ownFiles.length === 0 && MENTIONS_FILE.test(ownText(writing.body));
  const isSubjectMissing = writing.subject.trim() === '';
  if (isFileMissing && isSubjectMissing) return t.noFileNoSubject;
  if (isFileMissing) return t.noFile;
  return isSubjectMissing ? t.noSubject : null;
}
