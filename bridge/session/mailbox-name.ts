/** Names of mailboxes in modified UTF-7 (RFC 3501 §5.1.3), and of labels as flags. Pure. */

/** @returns the name as it is sent. */
export const encodeName = (name: string): string =>
  name.replace(/&|[^\x20-\x7e]+/g, (run) => (run === '&' ? '&-' : `&${toBase64(run)}-`));

/** @returns the name, or null if the text is not valid. Names in plain UTF-8 are accepted too, because some programs send them. */
export function decodeName(text: string): string | null {
  let isValid = true;
  const name = text.replace(/&([^-]*)(-?)/g, (_whole, base64: string, end: string) => {
    if (end === '') isValid = false;
    if (base64 === '') return '&';
    const run = fromBase64(base64);
    if (run === null) isValid = false;
    return run ?? '';
  });
  return isValid ? name : null;
}

function toBase64(run: string): string {
  const bytes = Buffer.from(run, 'utf16le').swap16();
  return bytes.toString('base64').replace(/=+$/, '').replaceAll('/', ',');
}

function fromBase64(base64: string): string | null {
  if (!/^[A-Za-z0-9+,]+$/.test(base64)) return null;
  const bytes = Buffer.from(base64.replaceAll(',', '/'), 'base64');
  const even = bytes.subarray(0, bytes.length & ~1);
  const run = Buffer.from(even).swap16().toString('utf16le');
  return run.length > 0 && run.isWellFormed() ? run : null;
}

const SYSTEM_FLAGS: Readonly<Record<string, string>> = {
  $seen: '\\Seen',
  $answered: '\\Answered',
  $flagged: '\\Flagged',
  $deleted: '\\Deleted',
  $draft: '\\Draft',
};
const KEYWORDS_BY_FLAG: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SYSTEM_FLAGS).map(([keyword, flag]) => [flag.toLowerCase(), keyword]),
);
export const SYSTEM_FLAG_NAMES: readonly string[] = Object.values(SYSTEM_FLAGS);
/** Spelling that mail programs compare with, although keywords have no case. */
const SPELLINGS: Readonly<Record<string, string>> = { $forwarded: '$Forwarded', $mdnsent: '$MDNSent' };
const ATOM = /^[!#$&'+,\-./0-9:;<=>?@A-Z[^_`a-z|}~]+$/;

/** @returns the flag of a keyword. A label that is no atom is encoded like a name. */
export const toFlag = (keyword: string): string =>
  SYSTEM_FLAGS[keyword] ??
  SPELLINGS[keyword] ??
  (ATOM.test(keyword) && !keyword.includes('&') ? keyword : encodeLabel(keyword));

/** Characters of a flag that are no atom characters travel encoded too, so that each label comes back as it was. */
const encodeLabel = (label: string): string =>
  label.replace(/&|[^!#$'+,\-./0-9:;<=>?@A-Z[^_`a-z|}~]+/g, (run) => (run === '&' ? '&-' : `&${toBase64(run)}-`));

/** @returns the keyword of a flag; null for flags that cannot be stored, such as `\Recent`. */
export function toKeyword(flag: string): string | null {
  const system = KEYWORDS_BY_FLAG[flag.toLowerCase()];
  if (system) return system;
  if (flag.startsWith('\\') || !ATOM.test(flag)) return null;
  return (decodeName(flag) ?? flag).toLowerCase();
}
