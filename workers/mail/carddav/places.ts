/** Addresses of CardDAV: the root, a person's principal, the home of the books, the one book, and its cards. Pure. */

export const ROOT = '/v1/carddav/';
export const WELL_KNOWN_PATH = '/.well-known/carddav';

export type Place =
  | { readonly kind: 'root' }
  | { readonly kind: 'principal' | 'home' | 'book'; readonly accountId: string }
  | { readonly kind: 'card'; readonly accountId: string; readonly name: string };

const HOME = 'books';
const BOOK = 'contacts';
const NAME_LENGTH_MAX = 255;

export const toPrincipalPath = (accountId: string): string => `${ROOT}${encodeURIComponent(accountId)}/`;
export const toHomePath = (accountId: string): string => `${toPrincipalPath(accountId)}${HOME}/`;
export const toBookPath = (accountId: string): string => `${toHomePath(accountId)}${BOOK}/`;
export const toCardPath = (accountId: string, name: string): string =>
  `${toBookPath(accountId)}${encodeURIComponent(name)}`;

/**
 * Parses the path of a URL, or a `href`, which may be a whole URL. Each part is decoded once, and a part that then has a slash, a
 * control character or only dots names nothing.
 */
export function parsePlace(href: string): Place | null {
  const path = href.trim().replace(/^https?:\/\/[^/]*/i, '');
  if (`${path}/` === ROOT) return { kind: 'root' };
  if (!path.startsWith(ROOT)) return null;
  const parts = path.slice(ROOT.length).split('/').map(decodePart);
  if (parts.at(-1) === '') parts.pop();
  const [accountId, home, book, name, ...rest] = parts;
  if (parts.some((part) => part === null || part === '') || rest.length > 0) return null;
  if (accountId == null) return { kind: 'root' };
  if (home == null) return { kind: 'principal', accountId };
  if (home !== HOME) return null;
  if (book == null) return { kind: 'home', accountId };
  if (book !== BOOK) return null;
  return name == null ? { kind: 'book', accountId } : { kind: 'card', accountId, name };
}

function decodePart(part: string): string | null {
  try {
    const name = decodeURIComponent(part);
    const isUsable = !/[/\p{Cc}\ufffe\uffff]/u.test(name) && !/^\.+$/.test(name) && name.length <= NAME_LENGTH_MAX;
    return isUsable && name.isWellFormed() ? name : null;
  } catch {
    return null;
  }
}
