/**
 * Recognises the lines that separate the messages of an mbox file. Programs write them in many forms: with a date (RFC 4155,
 * Appendix A), with a date in another form, or without a date (`From -`, `From ???@???`, `From `).
 */

const WEEKDAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const CLOCK = String.raw`\d{1,2}:\d\d(?::\d\d)?`;
/** Date of asctime: `Mon Jan  2 15:04:05 2026`, with an optional zone before the year. */
const DATED = new RegExp(`${WEEKDAY} +${MONTH} +\\d{1,2} +${CLOCK}(?: +[A-Za-z+-][\\w+:-]*){0,2} +\\d{4}\\b`);
/** Date as in a header: `Mon, 02 Jan 2026 15:04:05 +0000`. */
const DATED_AS_HEADER = new RegExp(`\\b\\d{1,2}[ -]${MONTH}[ -]\\d{4} +${CLOCK}\\b`);
/**
 * A line that is probably a separator. After `From `, it has one word with `@` or without letters, or it ends with a time and a
 * year, in any language.
 */
const PROBABLE = new RegExp(`^From (?:\\s*|[^A-Za-z\\s]+\\s*|\\S+@\\S+\\s*|.*${CLOCK}(?: \\S+)? \\d{4}\\s*)$`);
/** Beginning of a header field: name and colon. `//` must not follow, because a line that begins with a URL is text. */
const HEADER = /^[!-9;-~]+[ \t]*:(?!\/\/)/;
/** Names of fields with which the header of a stored message often begins. */
const KNOWN_HEADER =
  /^(?:return-path|received(?:-spf)?|from|to|cc|bcc|subject|date|message-id|mime-version|delivered-to|status|references|in-reply-to|reply-to|sender|authentication-results|(?:envelope|errors)-to|delivery-date|precedence|newsgroups|path|xref|lines|user-agent|importance|priority|organization|(?:x|content|list|arc|resent|dkim|domainkey|thread|old)-[\w-]+)[ \t]*:/i;

/** What precedes a line: the start of the file, a blank line or text. */
export type SeparatorContext = 'start' | 'blank' | 'text';

/**
 * Decides whether a line begins a message. A sentence may also begin with "From ". So the less the line looks like a separator, the
 * more the next line must look like a header.
 * @param line begins with `From `.
 * @param next the next line; null at the end of the file.
 */
export function isMboxSeparator(line: string, next: string | null, context: SeparatorContext): boolean {
  const isDated = DATED.test(line) || DATED_AS_HEADER.test(line);
  const beforeHeader = HEADER.test(next ?? '');
  if (context === 'text') return isDated && beforeHeader;
  if (isDated || KNOWN_HEADER.test(next ?? '')) return true;
  return beforeHeader && (context === 'start' || PROBABLE.test(line));
}

/** Whether text without a separator is a message: it begins with header fields, and at least one of them is well known. */
export function beginsWithHeader(text: string): boolean {
  const [block = ''] = text.split(/^\r?\n/m, 1);
  const lines = block.split(/\r?\n/).filter((line) => line !== '');
  return (
    lines.some((line) => KNOWN_HEADER.test(line)) &&
    lines.every((line, at) => HEADER.test(line) || (at > 0 && /^[ \t]/.test(line)))
  );
}

/**
 * @returns the time in a separator line, in milliseconds since 1970; null if the line has none. A time without a zone is taken as
 * UTC.
 */
export function parseSeparatorTime(line: string): number | null {
  const asctime = new RegExp(`${WEEKDAY} +(\\w{3}) +(\\d{1,2}) +(${CLOCK}) +(?:(\\S+) +)?(\\d{4})\\b`).exec(line);
  const asHeader =
    new RegExp(`\\d{1,2}[ -]${MONTH}[ -]\\d{4} +${CLOCK}(?: +(?:[+-]\\d{4}|GMT|UTC))?`).exec(line)?.[0] ?? '';
  const [, month, day, clock, zone = '', year] = asctime ?? [];
  const text = asctime
    ? `${day} ${month} ${year} ${clock} ${/^[+-]\d{4}$/.test(zone) ? zone : 'GMT'}`
    : /(?:[+-]\d{4}|GMT|UTC)$/.test(asHeader)
      ? asHeader
      : `${asHeader} GMT`;
  const time = Date.parse(text);
  return Number.isFinite(time) && time >= 0 ? time : null;
}
