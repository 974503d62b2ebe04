/** Parses SMTP replies (RFC 5321 §4.2) from a stream of bytes. A reply may have several lines. Pure. */

export interface SmtpReply {
  /** Reply code, from 200 to 599. */
  readonly code: number;
  /** Text of each line, without the code and its separator. */
  readonly lines: readonly string[];
}

/** Maximum length of a line: more than servers send in practice. It bounds the memory. */
const LINE_BYTES_MAX = 4096;
const LINES_MAX = 200;

export type ReplyFault = { readonly kind: 'garbled'; readonly line: string };

export interface ReplyReader {
  /**
   * Adds bytes from the server.
   * @returns the replies that are complete, or a fault. After a fault, the connection cannot be used.
   */
  push(bytes: Uint8Array): SmtpReply[] | ReplyFault;
}

export function createReplyReader(): ReplyReader {
  let pending = '';
  let lines: string[] = [];
  let code: number | null = null;

  /** Adds a line. @returns the reply if the line ends it; null if more lines follow. */
  function takeLine(line: string): SmtpReply | ReplyFault | null {
    const match = /^([2-5]\d\d)(?:([ -])(.*))?$/.exec(line);
    const lineCode = Number(match?.[1]);
    // All lines of a reply must have the same code (RFC 5321 §4.2.1).
    if (!match || (code !== null && lineCode !== code) || lines.length >= LINES_MAX) return toFault(line);
    code = lineCode;
    lines.push(match[3] ?? '');
    if (match[2] === '-') return null;
    const reply = { code: lineCode, lines };
    lines = [];
    code = null;
    return reply;
  }

  return {
    push(bytes) {
      // Latin-1 keeps every byte. `formatReply` decodes UTF-8 later.
      pending += Buffer.from(bytes).toString('latin1');
      const replies: SmtpReply[] = [];
      for (let end = pending.indexOf('\n'); end !== -1; end = pending.indexOf('\n')) {
        const line = pending.slice(0, end).replace(/\r$/, '');
        pending = pending.slice(end + 1);
        const taken = takeLine(line);
        if (taken && 'kind' in taken) return taken;
        if (taken) replies.push(taken);
      }
      if (pending.length > LINE_BYTES_MAX) return toFault(pending);
      return replies;
    },
  };
}

const toFault = (line: string): ReplyFault => ({ kind: 'garbled', line: toShown(line).slice(0, 200) });

/** @returns a reply as one line for people and logs: code and text without control characters, at most 500 characters. */
export function formatReply(reply: SmtpReply): string {
  return `${reply.code} ${toShown(reply.lines.join(' '))}`.trim().slice(0, 500);
}

function toShown(latin1: string): string {
  const text = new TextDecoder().decode(Buffer.from(latin1, 'latin1'));
  return text.replace(/\p{Cc}+/gu, ' ');
}

/** @returns the enhanced status code (RFC 3463) at the start of a reply; null if it has none. */
export function parseEnhancedStatus(reply: string): string | null {
  return /^(?:[2-5]\d\d[ -])?([245]\.\d{1,3}\.\d{1,3})(?:\s|$)/.exec(reply)?.[1] ?? null;
}

export interface SmtpExtensions {
  readonly pipelining: boolean;
  readonly startTls: boolean;
  readonly eightBitMime: boolean;
  readonly smtpUtf8: boolean;
  /** Maximum size of a message. Null if SIZE is not offered; 0 means that there is no fixed limit (RFC 1870 §4). */
  readonly sizeBytesMax: number | null;
  /** Names of the mechanisms that AUTH offers, in upper case. */
  readonly authMechanisms: readonly string[];
}

/**
 * Parses the extensions of a server.
 * @param ehlo the 250 reply to EHLO: its first line is the greeting, the others are keywords (RFC 5321 §4.1.1.1).
 */
export function parseExtensions(ehlo: SmtpReply): SmtpExtensions {
  const keywords = new Map<string, string[]>();
  for (const line of ehlo.lines.slice(1)) {
    // Some old servers send "AUTH=LOGIN PLAIN" instead of "AUTH LOGIN PLAIN".
    const [keyword = '', ...parameters] = line
      .trim()
      .toUpperCase()
      .replace(/^AUTH=/, 'AUTH ')
      .split(/\s+/);
    keywords.set(keyword, [...(keywords.get(keyword) ?? []), ...parameters]);
  }
  const size = keywords.get('SIZE');
  return {
    pipelining: keywords.has('PIPELINING'),
    startTls: keywords.has('STARTTLS'),
    eightBitMime: keywords.has('8BITMIME'),
    smtpUtf8: keywords.has('SMTPUTF8'),
    sizeBytesMax: size === undefined ? null : Number(size[0] ?? 0) || 0,
    authMechanisms: keywords.get('AUTH') ?? [],
  };
}
