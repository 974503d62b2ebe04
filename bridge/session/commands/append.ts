/** APPEND (RFC 3501 §6.3.11, RFC 7888). The message is streamed to the server as the client sends it. */
import type { AppendResult } from '../account-api.ts';
import { parseDateTime } from '../answers/strings.ts';
import { type Command, LiteralTooLargeError, listOf, textOf, textsOf } from '../command.ts';
import { type Answer, type Context, no, ok, SYNTAX } from '../context.ts';
import { decodeName, toKeyword } from '../mailbox-name.ts';

/** Bound of a message that is sent without a handshake (RFC 7888 §5). */
const NON_SYNCHRONIZING_BYTES_MAX = 4_096;

interface Target {
  readonly folder_id: string;
  readonly keywords?: string;
  readonly received_at?: string;
}

export async function append(context: Context, command: Command): Promise<Answer> {
  const { wire } = context;
  const { message } = command;
  if (!message) return SYNTAX;
  if (!message.isSynchronizing && message.sizeBytes > NON_SYNCHRONIZING_BYTES_MAX) throw new LiteralTooLargeError();
  const target = await findTarget(context, command);
  if ('status' in target) {
    // After a handshake that was refused, the client sends nothing.
    if (!message.isSynchronizing) await wire.skip(message.sizeBytes);
    if (!message.isSynchronizing) await wire.readLine();
    return target;
  }
  if (message.isSynchronizing) {
    await wire.say('+ Ready\r\n');
    await wire.flush();
  }
  const { body, finish } = wire.streamBytes(message.sizeBytes);
  let answer: Answer | null = null;
  try {
    const result = await send(context, target, body, message.sizeBytes);
    answer = ok('APPEND completed', `APPENDUID ${result.uid_validity} ${result.uid}`);
  } finally {
    // A message that the server refused is read to its end, because commands follow it.
    await finish();
    const rest = await wire.readLine();
    if (rest.length > 0) answer = SYNTAX;
  }
  return answer ?? SYNTAX;
}

async function findTarget({ account }: Context, { args, message }: Command): Promise<Target | Answer> {
  const name = decodeName(textOf(args[0]) ?? '');
  const flags = listOf(args[1]) ? textsOf(args[1]) : [];
  const [date, ...more] = args.slice(listOf(args[1]) ? 2 : 1);
  const receivedAtMs = date === undefined ? null : parseDateTime(textOf(date) ?? '');
  if (name === null || !flags || more.length > 0 || (date !== undefined && receivedAtMs === null)) return SYNTAX;
  if ((message?.sizeBytes ?? 0) === 0) return no('The message is empty', 'CANNOT');
  if ((message?.sizeBytes ?? 0) > account.overview.message_bytes_max) return no('The message is too large', 'TOOBIG');
  const folder = await account.findFolder(name);
  if (!folder) return no('No such mailbox', 'TRYCREATE');
  const keywords = [...new Set(flags.flatMap((flag) => toKeyword(flag) ?? []))];
  return {
    folder_id: folder.folder_id,
    ...(keywords.length > 0 ? { keywords: keywords.join(',') } : {}),
    ...(receivedAtMs === null ? {} : { received_at: String(receivedAtMs) }),
  };
}

async function send(
  { client, account }: Context,
  target: Target,
  body: ReadableStream<Uint8Array>,
  sizeBytes: number,
): Promise<AppendResult> {
  const result = await client.json<AppendResult>('POST', '/v1/imap/append', {
    query: { ...target },
    body,
    headers: {
      'content-type': 'message/rfc822',
      'content-length': String(sizeBytes),
      'idempotency-key': crypto.randomUUID(),
    },
  });
  account.forgetOverview();
  return result;
}
