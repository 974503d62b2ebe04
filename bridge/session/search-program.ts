/** SEARCH programs (RFC 3501 §6.4.4, RFC 7162 §3.1.5): parsing, and what a row alone decides. Pure. */
import { parseDay } from './answers/strings.ts';
import { type Argument, listOf, textOf } from './command.ts';
import type { Row } from './folder-mirror.ts';
import { toKeyword } from './mailbox-name.ts';
import { parseSequenceSet, type SequenceSet } from './sequence-set.ts';

/** A filter that the server evaluates, in the form of JMAP (RFC 8621 §4.4.1). */
export type TextFilter = Readonly<Record<string, string | readonly string[]>>;

export type Criterion =
  | { readonly kind: 'all' | 'none' }
  | { readonly kind: 'and' | 'or'; readonly of: readonly Criterion[] }
  | { readonly kind: 'not'; readonly of: Criterion }
  | { readonly kind: 'set'; readonly set: SequenceSet; readonly isUid: boolean }
  | { readonly kind: 'row'; readonly test: (row: Row) => boolean }
  /** The Date field is compared, in the zone that it names. */
  | { readonly kind: 'sent'; readonly test: (dayMs: number) => boolean }
  | { readonly kind: 'text'; readonly filter: TextFilter };

export interface SearchProgram {
  readonly criterion: Criterion;
  readonly hasModseq: boolean;
}

const DAY_MS = 86_400_000;
const hasKeyword = (keyword: string): Criterion => ({
  kind: 'row',
  test: ({ keywords }) => keywords.includes(keyword),
});
const not = (of: Criterion): Criterion => ({ kind: 'not', of });
const FLAGS = { SEEN: '$seen', ANSWERED: '$answered', FLAGGED: '$flagged', DELETED: '$deleted', DRAFT: '$draft' };
const SIMPLE: Readonly<Record<string, Criterion>> = {
  ALL: { kind: 'all' },
  // No message is recent, because several connections cannot agree on it.
  RECENT: { kind: 'none' },
  NEW: { kind: 'none' },
  OLD: { kind: 'all' },
  ...Object.fromEntries(
    Object.entries(FLAGS).flatMap(([name, keyword]) => [
      [name, hasKeyword(keyword)],
      [`UN${name}`, not(hasKeyword(keyword))],
    ]),
  ),
};
const TEXTS: Readonly<Record<string, string>> = {
  SUBJECT: 'subject',
  FROM: 'from',
  TO: 'to',
  CC: 'cc',
  BCC: 'bcc',
  BODY: 'body',
  TEXT: 'text',
};

/** Reads keys from a list, one after the other. */
class KeyReader {
  readonly #args: readonly Argument[];
  #at = 0;
  hasModseq = false;

  constructor(args: readonly Argument[]) {
    this.#args = args;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#args.length;
  }

  /** @throws SyntaxError */
  readKey(): Criterion {
    const argument = this.#args[this.#at++];
    const list = argument === undefined ? null : listOf(argument);
    if (list) return this.#readList(list);
    const word = textOf(argument) ?? '';
    const name = word.toUpperCase();
    const simple = SIMPLE[name];
    if (simple) return simple;
    const set = parseSequenceSet(word);
    if (set) return { kind: 'set', set, isUid: false };
    const field = TEXTS[name];
    if (field) return toText({ [field]: this.#readText() }, field);
    return this.#readFurther(name);
  }

  #readFurther(name: string): Criterion {
    switch (name) {
      case 'NOT':
        return not(this.readKey());
      case 'OR':
        return { kind: 'or', of: [this.readKey(), this.readKey()] };
      case 'UID': {
        const set = parseSequenceSet(this.#readText());
        if (!set) throw new SyntaxError();
        return { kind: 'set', set, isUid: true };
      }
      case 'KEYWORD':
      case 'UNKEYWORD': {
        const keyword = toKeyword(this.#readText());
        const found: Criterion = keyword === null ? { kind: 'none' } : hasKeyword(keyword);
        return name === 'KEYWORD' ? found : not(found);
      }
      case 'LARGER':
      case 'SMALLER': {
        const bytes = this.#readNumber();
        return { kind: 'row', test: ({ sizeBytes }) => (name === 'LARGER' ? sizeBytes > bytes : sizeBytes < bytes) };
      }
      case 'HEADER':
        return toHeader(this.#readText(), this.#readText());
      case 'MODSEQ':
        return this.#readModseq();
      default:
        return this.#readDate(name);
    }
  }

  #readDate(name: string): Criterion {
    const match = /^(SENT)?(BEFORE|ON|SINCE)$/.exec(name);
    if (!match) throw new SyntaxError();
    const day = parseDay(this.#readText());
    if (day === null) throw new SyntaxError();
    const test = (timeMs: number): boolean =>
      match[2] === 'BEFORE'
        ? timeMs < day
        : match[2] === 'SINCE'
          ? timeMs >= day
          : timeMs >= day && timeMs < day + DAY_MS;
    return match[1] ? { kind: 'sent', test } : { kind: 'row', test: ({ receivedAtMs }) => test(receivedAtMs) };
  }

  /** `MODSEQ` may be followed by the name of a flag and a type, which are of no use here (RFC 7162 §3.1.5). */
  #readModseq(): Criterion {
    this.hasModseq = true;
    const first = this.#readText();
    if (!/^\d+$/.test(first)) this.#readText();
    const least = /^\d+$/.test(first) ? Number(first) : this.#readNumber();
    return { kind: 'row', test: ({ modseq }) => modseq >= least };
  }

  #readList(list: readonly Argument[]): Criterion {
    const inner = new KeyReader(list);
    const of: Criterion[] = [];
    do of.push(inner.readKey());
    while (!inner.isAtEnd);
    this.hasModseq ||= inner.hasModseq;
    return { kind: 'and', of };
  }

  #readText(): string {
    const text = textOf(this.#args[this.#at++]);
    if (text === null) throw new SyntaxError();
    return text;
  }

  #readNumber(): number {
    const text = this.#readText();
    if (!/^\d{1,15}$/.test(text)) throw new SyntaxError();
    return Number(text);
  }
}

/** An empty text is in each message (RFC 3501 §6.4.4). */
const toText = (filter: TextFilter, field: string): Criterion =>
  filter[field] === '' ? { kind: 'all' } : { kind: 'text', filter };

const toHeader = (name: string, value: string): Criterion => ({
  kind: 'text',
  filter: { header: value === '' ? [name] : [name, value] },
});

/** @returns the program, or null if it is invalid. */
export function parseSearch(args: readonly Argument[]): SearchProgram | null {
  const reader = new KeyReader(args);
  const of: Criterion[] = [];
  try {
    do of.push(reader.readKey());
    while (!reader.isAtEnd);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  return { criterion: { kind: 'and', of }, hasModseq: reader.hasModseq };
}

/** @returns the time of a Date field, without regard to its zone; null if it has none. */
export function parseSentDay(value: string | null): number | null {
  const match = /(\d{1,2}\s+[A-Za-z]{3}\s+\d{4})/.exec(value ?? '');
  return match?.[1] ? parseDay(match[1].replace(/\s+/g, '-')) : null;
}
