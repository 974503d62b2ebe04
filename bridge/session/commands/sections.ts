/** Reads sections of messages: from the header that is there already, or by range from the raw message. */
import type { FetchedMessage } from '../account-api.ts';
import { type ByteRange, findSection } from '../answers/body-structure.ts';
import { selectFields } from '../answers/header.ts';
import { RequestError } from '../client.ts';
import { BrokenAnswerError, type SelectedContext } from '../context.ts';
import type { SectionItem } from '../fetch-items.ts';
import type { Row } from '../folder-mirror.ts';
import { toBytes, toByteText, type Wire } from '../wire.ts';

export interface OpenSection {
  readonly item: SectionItem;
  /** The bytes, a body of a known length, or null if the message has no such part. */
  readonly content: Uint8Array | { readonly response: Response; readonly length: number } | null;
}

/** A section up to this size is read at once, and a message up to this size once for all its sections. */
const SMALL_BYTES_MAX = 131_072;
/** A section up to this size is written together with the text around it. */
const COLLECTED_BYTES_MAX = 8_192;

/** @returns the sections, or null if the message is gone. */
export async function openSections(
  context: SelectedContext,
  row: Row,
  message: FetchedMessage | undefined,
  items: readonly SectionItem[],
): Promise<OpenSection[] | null> {
  const ranges = items.map((item) => toRange(item, row, message));
  const isShared = row.sizeBytes <= SMALL_BYTES_MAX && ranges.filter((range) => range !== null).length > 1;
  try {
    const shared = isShared ? await readRange(context, row, { from: 0, to: row.sizeBytes }) : null;
    const sections: OpenSection[] = [];
    for (const [at, item] of items.entries()) {
      const content = await openContent({ context, row, message, shared }, item, ranges[at] ?? null);
      sections.push({ item, content });
    }
    return sections;
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return null;
    throw error;
  }
}

const isTopHeader = ({ path, section }: SectionItem): boolean =>
  path.length === 0 && section !== null && section !== 'TEXT';

/** @returns the bytes of the raw message that a section needs; null if it needs none. */
function toRange(item: SectionItem, row: Row, message: FetchedMessage | undefined): ByteRange | null {
  if (isTopHeader(item)) return null;
  if (item.path.length === 0 && item.section === null) return cut({ from: 0, to: row.sizeBytes }, item);
  const range = message?.structure ? findSection(message.structure, item.path, item.section) : null;
  return range && (item.fields.length > 0 ? range : cut(range, item));
}

function cut({ from, to }: ByteRange, { partial }: SectionItem): ByteRange {
  if (!partial) return { from, to };
  const start = Math.min(from + partial.from, to);
  return { from: start, to: Math.min(start + partial.length, to) };
}

interface Source {
  readonly context: SelectedContext;
  readonly row: Row;
  readonly message: FetchedMessage | undefined;
  /** The whole message, if all its sections are taken from it. */
  readonly shared: Uint8Array | null;
}

async function openContent(
  source: Source,
  item: SectionItem,
  range: ByteRange | null,
): Promise<OpenSection['content']> {
  const { context, row, message, shared } = source;
  if (isTopHeader(item)) {
    const header = Buffer.from(message?.header ?? '', 'base64');
    return cutBytes(item.fields.length > 0 ? toSelected(header, item) : header, item);
  }
  if (!range) return null;
  if (range.to <= range.from) return new Uint8Array(0);
  const isSmall = range.to - range.from <= SMALL_BYTES_MAX || item.fields.length > 0;
  if (!shared && !isSmall) return openRange(context, row, range);
  const bytes = shared ? shared.subarray(range.from, range.to) : await readRange(context, row, range);
  return item.fields.length > 0 ? cutBytes(toSelected(bytes, item), item) : bytes;
}

const toSelected = (header: Uint8Array, { fields, section }: SectionItem): Uint8Array =>
  toBytes(selectFields(toByteText(header), fields, section === 'HEADER.FIELDS.NOT'));

const cutBytes = (bytes: Uint8Array, { partial }: SectionItem): Uint8Array =>
  partial ? bytes.subarray(partial.from, partial.from + partial.length) : bytes;

async function openRange(
  { client }: SelectedContext,
  row: Row,
  { from, to }: ByteRange,
): Promise<{ response: Response; length: number }> {
  const isWhole = from === 0 && to === row.sizeBytes;
  const response = await client.send('GET', `/v1/messages/${row.messageId}/raw`, {
    headers: { 'accept-encoding': 'identity', ...(isWhole ? {} : { range: `bytes=${from}-${to - 1}` }) },
    isRepeatable: true,
  });
  if (!isWhole && response.status !== 206) throw new RequestError(502, 'no_range', 'The mail server ignored a range');
  return { response, length: Number(response.headers.get('content-length') ?? to - from) };
}

async function readRange(context: SelectedContext, row: Row, range: ByteRange): Promise<Uint8Array> {
  const { response } = await openRange(context, row, range);
  return new Uint8Array(await response.arrayBuffer());
}

export async function writeSection(wire: Wire, { item, content }: OpenSection): Promise<void> {
  const label = item.partial ? `${item.label}<${item.partial.from}>` : item.label;
  if (content === null) return wire.say(`${label} NIL`);
  await wire.say(`${label} {${content.length}}\r\n`);
  if (!(content instanceof Uint8Array)) return writeBody(wire, content.response, content.length);
  return content.length > COLLECTED_BYTES_MAX ? wire.write(content) : wire.say(toByteText(content));
}

/** Copies a body to the client as it reads. @throws BrokenAnswerError if the body has another length than announced. */
async function writeBody(wire: Wire, response: Response, length: number): Promise<void> {
  let written = 0;
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const part = await reader?.read();
      if (!part || part.done) break;
      written += part.value.length;
      if (written > length) break;
      await wire.write(part.value);
    }
  } catch (error) {
    throw new BrokenAnswerError('The body ended early', { cause: error });
  } finally {
    if (written !== length) await reader?.cancel().catch(() => {});
  }
  if (written !== length) throw new BrokenAnswerError('The body has another length than announced');
}
