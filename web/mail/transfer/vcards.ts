/** Reads names and addresses from vCard files (2.1, 3.0 of RFC 2426, 4.0 of RFC 6350), such as those of Google Takeout. Pure. */
export interface CardContact {
  readonly name: string;
  readonly email: string;
}

const NAME_LENGTH_MAX = 200;

/** @returns a contact for each address. Cards without an address are left out. */
export function readVcards(text: string): CardContact[] {
  const contacts = new Map<string, CardContact>();
  let fields = new Map<string, string[]>();
  for (const line of unfold(text)) {
    const field = readLine(line);
    if (!field) continue;
    const { name, value } = field;
    if (name === 'BEGIN') fields = new Map();
    fields.set(name, [...(fields.get(name) ?? []), value]);
    if (name !== 'END') continue;
    for (const contact of toContacts(fields)) {
      const key = contact.email.toLowerCase();
      if (!contacts.has(key)) contacts.set(key, contact);
    }
  }
  return [...contacts.values()];
}

/** Joins lines that were folded: before a space, or in quoted-printable after "=". */
function unfold(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.split(/\r\n?|\n/)) {
    const before = lines.at(-1) ?? '';
    if (before.endsWith('=') && /^[^:]*QUOTED-PRINTABLE/i.test(before))
      lines[lines.length - 1] = before.slice(0, -1) + line;
    else if (/^[ \t]/.test(line) && lines.length > 0) lines[lines.length - 1] = before + line.slice(1);
    else lines.push(line);
  }
  return lines;
}

/** Reads `group.NAME;PARAMETER="a:b":value`. */
function readLine(line: string): { name: string; value: string } | null {
  let colon = 0;
  for (let isQuoted = false; colon < line.length && (isQuoted || line[colon] !== ':'); colon += 1)
    if (line[colon] === '"') isQuoted = !isQuoted;
  if (colon === line.length) return null;
  const [fullName = '', ...parameters] = line.slice(0, colon).split(';');
  const name = fullName.slice(fullName.lastIndexOf('.') + 1).toUpperCase();
  return { name, value: decodeValue(parameters.join(';'), line.slice(colon + 1)) };
}

function decodeValue(parameters: string, value: string): string {
  if (!/QUOTED-PRINTABLE/i.test(parameters)) return value;
  const bytes = value.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const isLatin = /CHARSET=(?:iso-8859-1|windows-1252)/i.test(parameters);
  return new TextDecoder(isLatin ? 'windows-1252' : 'utf-8').decode(
    Uint8Array.from(bytes, (char) => char.charCodeAt(0)),
  );
}

function toContacts(fields: ReadonlyMap<string, readonly string[]>): CardContact[] {
  const [formatted = ''] = fields.get('FN') ?? [];
  const [parts = ''] = fields.get('N') ?? [];
  const [family = '', given = ''] = parts.split(/(?<!\\);/);
  const name = unescapeText(formatted.trim() || `${given} ${family}`.trim()).slice(0, NAME_LENGTH_MAX);
  return (fields.get('EMAIL') ?? []).flatMap((address) => {
    const email = unescapeText(address).replace(/^mailto:/i, '');
    return email.includes('@') ? [{ name, email }] : [];
  });
}

const unescapeText = (text: string): string =>
  text
    .replace(/\\([nN,;:\\])/g, (_, char: string) => (/n/i.test(char) ? ' ' : char))
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
