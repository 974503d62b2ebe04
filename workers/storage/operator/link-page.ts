/** The pages that a browser sees at a share link: the question for the password, and the objects of a prefix. */
import { createHash } from 'node:crypto';

const STYLE =
  ':root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:40rem;margin:3rem auto;padding:0 1rem}' +
  'input,button{font:inherit;padding:.6rem;min-height:44px;box-sizing:border-box}li{padding:.5rem 0;overflow-wrap:anywhere}' +
  'small{opacity:.7}ul{padding:0;list-style:none}';
const STYLE_SHA256 = createHash('sha256').update(STYLE).digest('base64');

/** Headers of everything at a share link: its path is a secret, and nothing there may act in the app's name. */
export const LINK_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
} as const;

const PAGE_HEADERS = {
  ...LINK_HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_SHA256}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const toPage = (title: string, content: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main><h1>${escapeHtml(title)}</h1>${content}</main></body></html>\n`;

/** Asks for the password. @param message what was wrong with the last answer; null at first. */
export function passwordPage(status: number, message: string | null): Response {
  const said = message === null ? '' : `<p role="alert">${escapeHtml(message)}</p>`;
  const form =
    '<form method="post"><p><label for="password">This link needs a password.</label></p>' +
    '<p><input id="password" name="password" type="password" autocomplete="off" required autofocus> <button>Open</button></p></form>';
  return new Response(toPage('Shared file', said + form), { status, headers: PAGE_HEADERS });
}

export const goneLinkPage = (): Response =>
  new Response(toPage('Nothing here', '<p>This link has ended, or what it opened is gone.</p>'), {
    status: 404,
    headers: PAGE_HEADERS,
  });

export interface SharedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly modifiedAt: string;
}

const formatSize = (bytes: number): string => {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const power = bytes < 1_000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${units[power]}`;
};

/** Lists the objects of a shared prefix. @param next cursor of the next page; null at the end. */
export function listPage(prefix: string, objects: readonly SharedObject[], next: string | null): Response {
  const rows = objects.map(({ key, sizeBytes, modifiedAt }) => {
    const name = escapeHtml(key.slice(prefix.length) || key);
    const day = escapeHtml(modifiedAt.slice(0, 10));
    return `<li><a href="?key=${encodeURIComponent(key)}">${name}</a> <small>${formatSize(sizeBytes)} · ${day}</small></li>`;
  });
  const list = rows.length === 0 ? '<p>There are no files here.</p>' : `<ul>${rows.join('')}</ul>`;
  const more = next === null ? '' : `<p><a href="?cursor=${encodeURIComponent(next)}">More</a></p>`;
  return new Response(toPage('Shared files', list + more), { headers: PAGE_HEADERS });
}
