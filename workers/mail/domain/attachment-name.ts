/**
 * File names of attachments. Converts untrusted names to names that are valid in a URL and on a disk, and unique within a message.
 */

const NAME_LENGTH_MAX = 200;
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/webp': '.webp',
  'message/rfc822': '.eml',
  'text/calendar': '.ics',
  'text/csv': '.csv',
  'text/html': '.html',
  'text/plain': '.txt',
};

/**
 * @returns the last part of a path, without unprintable characters. If nothing is left, `attachment` with an extension that matches
 * the type.
 */
export function cleanFileName(name: string | null, contentType: string): string {
  const last = (name ?? '').split(/[/\\]/).at(-1) ?? '';
  const shown = last
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
  if (shown === '' || /^\.+$/.test(shown)) return `attachment${EXTENSIONS[contentType] ?? ''}`;
  const [stem, extension] = splitName(shown);
  return stem.slice(0, NAME_LENGTH_MAX - Math.min(extension.length, 20)).toWellFormed() + extension.slice(0, 20);
}

/** Makes names unique: a second `a.pdf` becomes `a (2).pdf`. Names that differ only in case count as equal. */
export function makeNamesUnique(names: readonly string[]): string[] {
  const taken = new Set<string>();
  const nextOf = new Map<string, number>();
  return names.map((name) => {
    const [stem, extension] = splitName(name);
    let unique = name;
    let n = nextOf.get(name.toLowerCase()) ?? 2;
    while (taken.has(unique.toLowerCase())) {
      unique = `${stem} (${n})${extension}`;
      n += 1;
    }
    nextOf.set(name.toLowerCase(), n);
    taken.add(unique.toLowerCase());
    return unique;
  });
}

function splitName(name: string): [stem: string, extension: string] {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
}
