/**
 * Reads commands: lines and literals with bounds, then imapflow's parser.
 *
 * By design: the literal of an APPEND is not read here. The command is returned with `message`, and its handler streams the bytes.
 */
import parse from 'imapflow/lib/handler/imap-parser.js';
import type { ImapAttribute } from 'imapflow/lib/handler/types.js';
import { LINE_BYTES_MAX, toBytes, type Wire } from './wire.ts';

export type Argument = ImapAttribute;

export interface Command {
  readonly tag: string;
  /** In capitals, such as `UID FETCH`. */
  readonly name: string;
  readonly args: readonly Argument[];
  /** The literal of APPEND, which is still to be read. */
  readonly message: LiteralHead | null;
}

export interface LiteralHead {
  readonly sizeBytes: number;
  /** Whether the client waits for `+` before it sends the bytes. */
  readonly isSynchronizing: boolean;
}

/** A command that cannot be read. `tag` is `*` if the tag cannot be read either. */
export class BadCommandError extends Error {
  readonly tag: string;
  constructor(tag: string, message: string) {
    super(message);
    this.tag = tag;
  }
}
/** A literal without `+` handshake that is above the bound: its bytes follow, so the connection cannot continue. */
export class LiteralTooLargeError extends Error {}

const LITERAL_BYTES_MAX = 8_192;
/** Bound of a literal that is sent without a handshake (RFC 7888 §5). */
const NON_SYNCHRONIZING_BYTES_MAX = 4_096;
const COMMAND_BYTES_MAX = 65_536;
const TOKENS_MAX = 10_000;
const LITERAL = /~?\{(\d{1,15})(\+?)\}$/;

interface ReadOptions {
  /** Whether APPEND may send a message: after the log-in. */
  readonly canAppend: boolean;
}

export async function readCommand(wire: Wire, first: Uint8Array, options: ReadOptions): Promise<Command> {
  const literals: Buffer[] = [];
  let text = Buffer.from(first);
  for (let line = first; ; ) {
    const head = readLiteralHead(line);
    if (!head) return parseCommand(text, literals, null);
    if (options.canAppend && isBeforeMessage(text)) return parseCommand(withoutLiteral(text), literals, head);
    await acceptLiteral(wire, text, head);
    literals.push(Buffer.from(await wire.readBytes(head.sizeBytes)));
    line = await wire.readLine();
    text = Buffer.concat([text, toBytes('\r\n'), line]);
    const total = text.length + literals.reduce((sum, literal) => sum + literal.length, 0);
    if (total > COMMAND_BYTES_MAX) throw new BadCommandError(tagOf(text), 'Command too long');
  }
}

function readLiteralHead(line: Uint8Array): LiteralHead | null {
  const match = line.at(-1) === 0x7d ? LITERAL.exec(Buffer.from(line.subarray(-24)).toString('latin1')) : null;
  return match ? { sizeBytes: Number(match[1]), isSynchronizing: match[2] === '' } : null;
}

async function acceptLiteral(wire: Wire, text: Buffer, { sizeBytes, isSynchronizing }: LiteralHead): Promise<void> {
  if (!isSynchronizing) {
    if (sizeBytes > NON_SYNCHRONIZING_BYTES_MAX) throw new LiteralTooLargeError();
    return;
  }
  if (sizeBytes > LITERAL_BYTES_MAX) throw new BadCommandError(tagOf(text), 'Literal too large');
  await wire.say('+ Ready\r\n');
  await wire.flush();
}

/** Whether the literal at the end of the text is the message of an APPEND: the mailbox, in any form, stands before it. */
const isBeforeMessage = (text: Buffer): boolean =>
  /^[^\s]+ APPEND [\s\S]*\S[\s\S]* ~?\{\d+\+?\}$/i.test(text.toString('latin1'));

const withoutLiteral = (text: Buffer): Buffer =>
  Buffer.from(text.toString('latin1').replace(/ ~?\{\d+\+?\}$/, ''), 'latin1');
const tagOf = (text: Buffer): string => /^[!-'*,-[\]^-z|}~]{1,64}(?= )/.exec(text.toString('latin1'))?.[0] ?? '*';

/** A pattern of LIST may hold wildcards without quotation marks (RFC 3501 §9, list-mailbox), which the parser refuses. */
const quotePattern = (text: string): string =>
  /^\S+ L(?:IST|SUB) /i.test(text) ? text.replace(/ ([^\s"(){}\\]*[%*][^\s"(){}\\]*)(?= |$)/g, ' "$1"') : text;

export async function parseCommand(
  text: Buffer,
  literals: readonly Buffer[],
  message: LiteralHead | null,
): Promise<Command> {
  const tag = tagOf(text);
  if (tag === '*' || tag === '+') throw new BadCommandError('*', 'Tag missing or invalid');
  const whole = quotePattern(text.toString('utf8'));
  try {
    const parsed = await parse(Buffer.from(whole), {
      literals: [...literals],
      literalPlus: true,
      maxLiteralSize: LITERAL_BYTES_MAX,
      maxResponseTokens: TOKENS_MAX,
    });
    return { tag, name: (parsed.command ?? '').toUpperCase(), args: parsed.attributes ?? [], message };
  } catch {
    throw new BadCommandError(tag, `Command not understood (at most ${LINE_BYTES_MAX} bytes per line)`);
  }
}

/** @returns the text of a string, an atom or a literal; null for a list or no argument. NIL is the atom `NIL`. */
export function textOf(argument: Argument | undefined): string | null {
  if (argument === null) return 'NIL';
  if (argument === undefined || Array.isArray(argument)) return null;
  const { value, section } = argument;
  if (section !== undefined || value === null || value === undefined) return null;
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);
}

export const listOf = (argument: Argument | undefined): readonly Argument[] | null =>
  Array.isArray(argument) ? argument : null;

/** @returns the texts of a list, or of one argument that stands for a list of one; null if one of them is no text. */
export function textsOf(argument: Argument | undefined): string[] | null {
  const texts = (listOf(argument) ?? [argument]).map((each) => textOf(each as Argument | undefined));
  return texts.every((text) => text !== null) ? (texts as string[]) : null;
}
