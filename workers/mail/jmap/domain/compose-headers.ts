/** Writes the header fields of a new message (RFC 5322, RFC 2047, RFC 2231). Pure. No value can end its field. */
import { keepSendableIds, toEncodedWords, toMailDate } from '../../domain/automatic-message.ts';

export interface ComposeAddress {
  readonly name?: string | null | undefined;
  readonly email: string;
}

const LINE_LENGTH_MAX = 76;

/** Folds a field at spaces. A long word is not folded, because lines may have 998 characters. */
export function foldField(name: string, value: string): string {
  const lines: string[] = [];
  let line = `${name}:`;
  for (const word of value.split(' ')) {
    if (line.length + 1 + word.length > LINE_LENGTH_MAX && line !== `${name}:`) {
      lines.push(line);
      line = '';
    }
    line += ` ${word}`;
  }
  return [...lines, line].join('\r\n');
}

const oneLine = (text: string): string => text.replace(/[\r\n\0]+/g, ' ').trim();

/** @returns the text unchanged if it is ASCII and does not look like encoded words; otherwise encoded words. */
export function toTextValue(text: string): string {
  const clean = oneLine(text);
  const isPlain = /^[\x20-\x7e]*$/.test(clean) && !clean.includes('=?') && !/\S{200}/.test(clean);
  return isPlain ? clean : toEncodedWords(clean).join(' ');
}

export const toAddressesValue = (people: readonly ComposeAddress[]): string => people.map(toMailbox).join(', ');

function toMailbox({ name, email }: ComposeAddress): string {
  const address = oneLine(email).replace(/[<>\s]+/g, '');
  const clean = oneLine(name ?? '');
  if (clean === '') return address;
  if (/^[A-Za-z0-9 !#$%&'*+/=?^_`{|}~-]+$/.test(clean) && !clean.includes('=?')) return `${clean} <${address}>`;
  const isQuotable = /^[\x20-\x7e]+$/.test(clean) && !clean.includes('=?');
  const phrase = isQuotable ? `"${clean.replace(/["\\]/g, '\\$&')}"` : toEncodedWords(clean).join(' ');
  return `${phrase} <${address}>`;
}

export const toGroupsValue = (
  groups: readonly { readonly name?: string | null | undefined; readonly addresses: readonly ComposeAddress[] }[],
): string =>
  groups
    .map(({ name, addresses }) =>
      name == null ? toAddressesValue(addresses) : `${toTextValue(name)}: ${toAddressesValue(addresses)};`,
    )
    .join(', ');

export const toMessageIdsValue = (ids: readonly string[]): string =>
  keepSendableIds(ids.map((id) => `<${id.replace(/[<>\s]+/g, '')}>`)).join(' ');

/** Formats a date for the header. Keeps its time zone. */
export function toDateValue(date: string): string {
  const zone = /([+-])(\d{2}):(\d{2})$/.exec(date);
  if (!zone) return toMailDate(Date.parse(date));
  const minutes = (zone[1] === '-' ? -1 : 1) * (Number(zone[2]) * 60 + Number(zone[3]));
  return toMailDate(Date.parse(date) + minutes * 60_000).replace('+0000', `${zone[1]}${zone[2]}${zone[3]}`);
}

export const toUrlsValue = (urls: readonly string[]): string =>
  urls.map((url) => `<${url.replace(/[<>\s]+/g, '')}>`).join(', ');

/** Formats a parameter of Content-Type or Content-Disposition. */
export function toParameter(name: string, value: string): string {
  const clean = oneLine(value);
  if (/^[\x20-\x7e]*$/.test(clean)) return `; ${name}="${clean.replace(/["\\]/g, '\\$&')}"`;
  const encoded = encodeURIComponent(clean).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `; ${name}*=utf-8''${encoded}`;
}
