/** Strings of answers, with one character per byte (RFC 3501 §4.3). Pure. */

/** @returns a quoted string, or a literal if the text has other than printable ASCII. */
export const toImapString = (text: string): string =>
  /^[ !#-[\]-~]*$/.test(text)
    ? `"${text}"`
    : /^[ -~]*$/.test(text) && text.length < 1_000
      ? `"${text.replace(/["\\]/g, '\\$&')}"`
      : `{${text.length}}\r\n${text}`;

export const toNullableString = (text: string | null | undefined): string =>
  text === null || text === undefined ? 'NIL' : toImapString(text);

/** @returns text for people after OK, NO or BAD: one line of ASCII. */
export const toHumanText = (text: string): string => text.replace(/[^ -~]+/g, ' ').slice(0, 500) || 'Error';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** @returns a date-time of RFC 3501 §9, in UTC. */
export function toDateTime(timeMs: number): string {
  const date = new Date(timeMs);
  const [time] = date.toISOString().slice(11).split('.');
  const day = String(date.getUTCDate()).padStart(2, ' ');
  return `"${day}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()} ${time} +0000"`;
}

/** @returns milliseconds of a date-time, or null if the text is none. */
export function parseDateTime(text: string): number | null {
  const match = /^ ?(\d{1,2})-([A-Za-z]{3})-(\d{4}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/.exec(text);
  if (!match) return null;
  const [, day, name = '', year, hour, minute, second, sign, zoneHours, zoneMinutes] = match;
  const month = monthOf(name);
  if (month < 0) return null;
  const zoneMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return Date.UTC(Number(year), month, Number(day), Number(hour), Number(minute), Number(second)) - zoneMs;
}

/** @returns the start of a day, such as `1-Feb-2026`, in UTC milliseconds; null if the text is none. */
export function parseDay(text: string): number | null {
  const match = /^(\d{1,2})-([A-Za-z]{3})-(\d{4})$/.exec(text);
  const month = monthOf(match?.[2] ?? '');
  return match && month >= 0 ? Date.UTC(Number(match[3]), month, Number(match[1])) : null;
}

const monthOf = (name: string): number => MONTHS.findIndex((month) => month.toLowerCase() === name.toLowerCase());
