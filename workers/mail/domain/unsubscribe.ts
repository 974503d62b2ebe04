/** Finds how the reader of a message can unsubscribe from its mailing list (RFC 2369, RFC 8058). Pure. */
import { parseMailPath } from './mail-path.ts';
import type { HeaderField } from './written-fields.ts';

export type Unsubscribe =
  /** One-click unsubscription: a POST to the URL is enough (RFC 8058). The sender's domain signed the fields that say so. */
  | { readonly method: 'one_click'; readonly url: string }
  | { readonly method: 'mail'; readonly email: string; readonly subject: string; readonly body: string }
  /** A web page that the reader must open. */
  | { readonly method: 'web'; readonly url: string };

/** Label of a message whose mailing list the user has left, and its keyword in JMAP. */
export const UNSUBSCRIBED_LABEL = '$unsubscribed';

const ENTRIES_MAX = 10;
const URL_LENGTH_MAX = 2_000;
const TEXT_LENGTH_MAX = 500;

/**
 * Finds the best way to unsubscribe; null if there is none.
 * @param isCovered true if a valid DKIM signature covers both fields. Otherwise anyone could have added them.
 * @param isPublic tells whether the service or the user may open a URL.
 */
export function readUnsubscribe(
  headers: readonly HeaderField[],
  isCovered: boolean,
  isPublic: (url: string) => boolean,
): Unsubscribe | null {
  const valuesOf = (name: string) =>
    headers.filter((field) => field.name.toLowerCase() === name).map(({ value }) => value);
  const fields = valuesOf('list-unsubscribe');
  const [field] = fields;
  if (field === undefined) return null;
  const entries = [...field.matchAll(/<([^<>]*)>/g)]
    .slice(0, ENTRIES_MAX)
    .map(([, text = '']) => text.replace(/\s/g, ''));
  const [url] = entries.filter(isPublic);
  const [post, ...posts] = valuesOf('list-unsubscribe-post');
  const isOneClick = posts.length === 0 && /^\s*List-Unsubscribe\s*=\s*One-Click\s*$/i.test(post ?? '');
  if (isCovered && isOneClick && fields.length === 1 && url !== undefined) return { method: 'one_click', url };
  const [mail] = entries.flatMap((entry) => readMailto(entry) ?? []);
  return mail ?? (url === undefined ? null : { method: 'web', url });
}

/** Reads a `mailto:` URL: one recipient, subject and body. Other fields, such as further recipients, are ignored (RFC 6068 §7). */
function readMailto(text: string): Unsubscribe | null {
  if (text.length > URL_LENGTH_MAX || !/^mailto:/i.test(text) || !URL.canParse(text)) return null;
  const { pathname, searchParams } = new URL(text.replaceAll('+', '%2B'));
  let email: string;
  try {
    email = decodeURIComponent(pathname);
  } catch {
    return null;
  }
  if (!parseMailPath(email)) return null;
  const read = (name: string) => [...searchParams].find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
  const subject = read('subject')
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim();
  return {
    method: 'mail',
    email,
    subject: subject.slice(0, TEXT_LENGTH_MAX) || 'unsubscribe',
    body: read('body').slice(0, TEXT_LENGTH_MAX) || 'unsubscribe',
  };
}
