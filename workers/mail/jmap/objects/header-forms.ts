/** Parsed forms of header fields (RFC 8621 §4.1.2), and the properties that select a field and a form (§4.1.3). */
import { addressParser } from 'postal-mime';
import { decodeWords } from '../../domain/encoded-words.ts';
import { cleanLine, parseAddressList } from '../../mime/addresses.ts';
import { type HeaderField, unfold } from '../../mime/mime-tree.ts';

export type HeaderForm = 'Raw' | 'Text' | 'Addresses' | 'GroupedAddresses' | 'MessageIds' | 'Date' | 'URLs';

export interface HeaderProperty {
  /** Name of the field in lower case. */
  readonly name: string;
  readonly form: HeaderForm;
  readonly isAll: boolean;
}

export interface JmapAddress {
  readonly name: string | null;
  readonly email: string;
}

const FORMS: readonly HeaderForm[] = ['Raw', 'Text', 'Addresses', 'GroupedAddresses', 'MessageIds', 'Date', 'URLs'];
const ADDRESS_FORMS: readonly HeaderForm[] = ['Raw', 'Addresses', 'GroupedAddresses'];
const formsOf = (names: string, forms: readonly HeaderForm[]) => names.split(' ').map((name) => [name, forms] as const);
/**
 * Forms that each header field may have. Fields of RFC 5322 and RFC 2369 have only forms that fit their syntax; other fields have
 * all.
 */
const FORMS_OF: ReadonlyMap<string, readonly HeaderForm[]> = new Map([
  ...formsOf(
    'from sender reply-to to cc bcc resent-from resent-sender resent-reply-to resent-to resent-cc resent-bcc',
    ADDRESS_FORMS,
  ),
  ...formsOf('message-id in-reply-to references resent-message-id', ['Raw', 'MessageIds']),
  ...formsOf('date resent-date', ['Raw', 'Date']),
  ...formsOf('list-help list-unsubscribe list-subscribe list-post list-owner list-archive', ['Raw', 'URLs']),
  ...formsOf('subject comments keywords list-id', ['Raw', 'Text']),
  ...formsOf('return-path received', ['Raw']),
]);

/**
 * Parses the name of a property.
 * @returns null if it does not have the form `header:Name[:asForm][:all]`, or the form does not fit the field.
 */
export function parseHeaderProperty(property: string): HeaderProperty | null {
  const match = /^header:([!-9;-~]+)(?::as([A-Za-z]+))?(:all)?$/.exec(property);
  if (!match?.[1]) return null;
  const form = FORMS.find((each) => each === (match[2] ?? 'Raw'));
  const name = match[1].toLowerCase();
  if (!form || !(FORMS_OF.get(name) ?? FORMS).includes(form)) return null;
  return { name, form, isAll: match[3] !== undefined };
}

/** @returns the value of the last field with this name, or of all such fields. Without such a field, null or an empty list. */
export function readHeaderProperty(headers: readonly HeaderField[], { name, form, isAll }: HeaderProperty): unknown {
  const fields = headers.filter((field) => field.name === name);
  if (isAll) return fields.map((field) => toForm(field.value, form));
  const last = fields.at(-1);
  return last ? toForm(last.value, form) : null;
}

function toForm(value: string, form: HeaderForm): unknown {
  switch (form) {
    case 'Raw':
      return toRaw(value);
    case 'Text':
      return toText(value);
    case 'Addresses':
      return toAddresses(value);
    case 'GroupedAddresses':
      return toGroups(value);
    case 'MessageIds':
      return toMessageIds(value);
    case 'Date':
      return toDate(value);
    case 'URLs':
      return toUrls(value);
  }
}

/** @param value the value with one character per byte. @returns the text; bytes above ASCII are decoded as UTF-8 (RFC 6532). */
export const toRaw = (value: string): string => Buffer.from(value, 'latin1').toString('utf8').replaceAll('\u0000', '');

export const toText = (value: string): string =>
  decodeWords(unfold(value)).toWellFormed().replaceAll('\u0000', '').normalize('NFC').trim();

export const toAddresses = (value: string): JmapAddress[] =>
  parseAddressList(unfold(value)).map(({ name, email }) => ({ name: name === '' ? null : name, email }));

/** Parses groups of addresses. Adjacent addresses outside a group become one group without a name. */
function toGroups(value: string): { name: string | null; addresses: JmapAddress[] }[] {
  const groups: { name: string | null; addresses: JmapAddress[] }[] = [];
  for (const each of addressParser(decodeWords(unfold(value)))) {
    const addresses = (each.group ?? [each]).map(({ name, address }) => ({
      name: name === '' ? null : cleanLine(name),
      email: cleanLine(address),
    }));
    const last = groups.at(-1);
    if (each.group) groups.push({ name: cleanLine(each.name), addresses });
    else if (last?.name === null) last.addresses.push(...addresses);
    else groups.push({ name: null, addresses });
  }
  return groups;
}

/** Parses message ids. @returns the ids without angle brackets; null if the field has none. */
export function toMessageIds(value: string): string[] | null {
  const ids = [...unfold(value).matchAll(/<([^<>]+)>/g)].map((match) => (match[1] ?? '').replace(/\s+/g, ''));
  return ids.length > 0 ? ids : null;
}

/** Parses a date. @returns the date in the form of RFC 3339, in the time zone of the field. */
export function toDate(value: string): string | null {
  const text = unfold(value)
    .replace(/\([^()]*\)/g, '')
    .trim();
  const time = Date.parse(text);
  if (!Number.isFinite(time)) return null;
  const zone = /([+-])(\d{2})(\d{2})$/.exec(text);
  const minutes = zone ? (zone[1] === '-' ? -1 : 1) * (Number(zone[2]) * 60 + Number(zone[3])) : 0;
  const local = new Date(time + minutes * 60_000).toISOString().slice(0, 19);
  return minutes === 0 ? `${local}Z` : `${local}${zone?.[1]}${zone?.[2]}:${zone?.[3]}`;
}

function toUrls(value: string): string[] | null {
  const urls = [...unfold(value).matchAll(/<([^<>]*)>/g)].map((match) => (match[1] ?? '').replace(/\s+/g, ''));
  return urls.length > 0 ? urls : null;
}
