/** Converts a message to a JMAP Email (RFC 8621 §4.1). */

import type { MailAddress } from '../../../../durable-objects/mail/contract/delivered-message.ts';
import type { EmailRecord } from '../../../../durable-objects/mail/contract/jmap.ts';

import type { RequestBudget } from '../../../shared/pure/request-budget.ts';
import type { OpenedMessage } from '../../checks/opened-message.ts';
import { toKeywords } from '../../domain/keywords.ts';
import { type HeaderField, readHeaders } from '../../mime/mime-tree.ts';
import { toMessageBlobId } from '../domain/blob-id.ts';
import { BODY_VALUES_BYTES_MAX } from '../protocol/limits.ts';
import type { Arguments } from '../protocol/method.ts';
import {
  type BodyPart,
  type BodyValue,
  DEFAULT_BODY_PROPERTIES,
  listHeaders,
  type MessageBody,
  readBody,
  readBodyValue,
  toBodyPartJson,
} from './body-parts.ts';
import { type HeaderForm, parseHeaderProperty, readHeaderProperty } from './header-forms.ts';

const METADATA = [
  'id',
  'blobId',
  'threadId',
  'mailboxIds',
  'keywords',
  'size',
  'receivedAt',
  'hasAttachment',
  'preview',
] as const;
/** Properties of an Email that are header fields, with the name and form of the field (RFC 8621 §4.1.3). */
const FIELDS: Readonly<Record<string, readonly [name: string, form: HeaderForm]>> = {
  messageId: ['message-id', 'MessageIds'],
  inReplyTo: ['in-reply-to', 'MessageIds'],
  references: ['references', 'MessageIds'],
  sender: ['sender', 'Addresses'],
  from: ['from', 'Addresses'],
  to: ['to', 'Addresses'],
  cc: ['cc', 'Addresses'],
  bcc: ['bcc', 'Addresses'],
  replyTo: ['reply-to', 'Addresses'],
  subject: ['subject', 'Text'],
  sentAt: ['date', 'Date'],
};
const BODY = ['bodyStructure', 'bodyValues', 'textBody', 'htmlBody', 'attachments'] as const;
const KNOWN: readonly string[] = [...METADATA, ...Object.keys(FIELDS), 'headers', ...BODY];
export const isEmailProperty = (name: string): boolean => KNOWN.includes(name) || parseHeaderProperty(name) !== null;

/** Properties that Email/get returns by default (RFC 8621 §4.2). */
export const DEFAULT_EMAIL_PROPERTIES: readonly string[] = KNOWN.filter(
  (name) => name !== 'headers' && name !== 'bodyStructure',
);
/** Properties that Email/parse returns by default (RFC 8621 §4.9). */
export const DEFAULT_PARSE_PROPERTIES: readonly string[] = [
  ...Object.keys(FIELDS),
  'hasAttachment',
  'preview',
  'bodyValues',
  'textBody',
  'htmlBody',
  'attachments',
];

export interface BodyArguments {
  readonly bodyProperties: readonly string[] | null;
  readonly fetchTextBodyValues: boolean;
  readonly fetchHTMLBodyValues: boolean;
  readonly fetchAllBodyValues: boolean;
  readonly maxBodyValueBytes: number;
}

export interface BodyOptions extends BodyArguments {
  /** Budget for the parts of the answer. Each property of a message spends it when it is read. */
  readonly parts: RequestBudget;
}

/** What must be read for the properties of a message: only the mailbox's record, also the header fields, or the whole message. */
export type Need = 'record' | 'headers' | 'message';

/** @returns the least that must be read to have all the properties. */
export function decideNeed(properties: readonly string[]): Need {
  if (properties.some((name) => (BODY as readonly string[]).includes(name))) return 'message';
  const isFromHeaders = (name: string) => name === 'headers' || name === 'sender' || name.startsWith('header:');
  return properties.some(isFromHeaders) ? 'headers' : 'record';
}

/** Makes the Email of a stored message. @param read what was read of the message; null if the record is enough. */
export function toEmail(
  record: EmailRecord,
  read: { readonly headers: readonly HeaderField[]; readonly message: OpenedMessage | null } | null,
  properties: readonly string[],
  options: BodyOptions,
): Arguments {
  const content = read ? readContent(read, toMessageBlobId(record.id), properties, options) : null;
  return Object.fromEntries([
    ['id', record.id],
    ...readEach(
      properties,
      options,
      (name) => readMetadata(record, name) ?? content?.(name) ?? readField(record, name),
    ),
  ]);
}

/** Reads properties one after another. @throws OverBudgetError before the next one, if the answer has become too large. */
const readEach = (
  properties: readonly string[],
  { parts }: BodyOptions,
  read: (name: string) => unknown,
): (readonly [name: string, value: unknown])[] =>
  properties.map((name) => {
    const value = read(name);
    parts.spendJson({ [name]: value });
    return [name, value];
  });

/** Makes the Email of a message that is not stored. It has only properties of the content. */
export function toParsedEmail(
  message: OpenedMessage,
  known: { readonly preview: string; readonly hasAttachment: boolean; readonly blobId: string },
  properties: readonly string[],
  options: BodyOptions,
): Arguments {
  const { headers } = readHeaders(message.bytes);
  const content = readContent({ headers, message }, known.blobId, properties, options);
  const metadata: Arguments = { ...known, size: message.sizeBytes };
  return Object.fromEntries(
    readEach(properties, options, (name) => (Object.hasOwn(metadata, name) ? metadata[name] : (content(name) ?? null))),
  );
}

function readMetadata(record: EmailRecord, name: string): unknown {
  switch (name) {
    case 'id':
      return record.id;
    case 'blobId':
      return toMessageBlobId(record.id);
    case 'threadId':
      return record.threadId;
    case 'mailboxIds':
      return Object.fromEntries(record.folderIds.map((id) => [id, true]));
    case 'keywords':
      return toKeywords(record);
    case 'size':
      return record.sizeBytes;
    case 'receivedAt':
      return toUtcDate(record.receivedAt);
    case 'hasAttachment':
      return record.hasAttachment;
    case 'preview':
      return record.preview;
    default:
      return undefined;
  }
}

/** Formats a time in UTC. Omits a zero fraction of a second, as RFC 8620 §1.4 requires. */
export const toUtcDate = (time: number): string => new Date(time).toISOString().replace('.000Z', 'Z');

/** @returns the value of a header property, as far as the mailbox's record has it. */
function readField(record: EmailRecord, name: string): unknown {
  switch (name) {
    case 'messageId':
      return toIds(record.messageId === null ? [] : [record.messageId]);
    case 'inReplyTo':
      return toIds(record.inReplyTo === null ? [] : [record.inReplyTo]);
    case 'references':
      return toIds(record.references);
    case 'from':
      return toPeople(record.from ? [record.from] : []);
    case 'to':
      return toPeople(record.to);
    case 'cc':
      return toPeople(record.cc);
    case 'bcc':
      return toPeople(record.bcc);
    case 'replyTo':
      return toPeople(record.replyTo);
    case 'subject':
      return record.subject;
    case 'sentAt':
      return record.sentAt === null ? null : toUtcDate(record.sentAt);
    default:
      return null;
  }
}

const toIds = (ids: readonly string[]) => (ids.length > 0 ? ids.map((id) => id.replace(/^<|>$/g, '')) : null);
const toPeople = (people: readonly MailAddress[]) =>
  people.length > 0 ? people.map(({ name, email }) => ({ name: name === '' ? null : name, email })) : null;

/** @returns a function that reads a property of the message's content; it returns undefined for any other property. */
function readContent(
  { headers, message }: { readonly headers: readonly HeaderField[]; readonly message: OpenedMessage | null },
  blobId: string,
  properties: readonly string[],
  options: BodyOptions,
): (name: string) => unknown {
  const body = message && decideNeed(properties) === 'message' ? readBody(message, blobId) : null;
  const partProperties = options.bodyProperties ?? DEFAULT_BODY_PROPERTIES;
  return (name) => {
    if (name === 'headers') return listHeaders({ headers });
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (field) return readHeaderProperty(headers, { name: field[0], form: field[1], isAll: false });
    if (name.startsWith('header:')) {
      const property = parseHeaderProperty(name);
      return property && readHeaderProperty(headers, property);
    }
    if (!body) return undefined;
    const parts = options.parts.copy();
    if (name === 'bodyStructure')
      return toBodyPartJson(body.structure, [...new Set([...partProperties, 'subParts'])], parts);
    if (name === 'bodyValues') return readBodyValues(body, options);
    if (name === 'textBody' || name === 'htmlBody' || name === 'attachments')
      return body[name].map((part) => toBodyPartJson(part, partProperties, parts));
    return undefined;
  };
}

function readBodyValues(body: MessageBody, options: BodyOptions): Record<string, BodyValue> {
  const wanted = new Set([
    ...(options.fetchTextBodyValues || options.fetchAllBodyValues ? body.textBody : []),
    ...(options.fetchHTMLBodyValues || options.fetchAllBodyValues ? body.htmlBody : []),
    ...(options.fetchAllBodyValues ? listLeaves(body.structure) : []),
  ]);
  const values: Record<string, BodyValue> = {};
  let left = BODY_VALUES_BYTES_MAX;
  for (const each of wanted) {
    // The body values omit large attachments, which are not in memory. Clients download them as blobs.
    if (each.partId === null || each.part.cut || !each.part.type.startsWith('text/')) continue;
    const max = options.maxBodyValueBytes === 0 ? left : Math.min(left, options.maxBodyValueBytes);
    values[each.partId] = readBodyValue(each, Math.max(1, max));
    left -= Buffer.byteLength(values[each.partId]?.value ?? '');
  }
  return values;
}

const listLeaves = (part: BodyPart): BodyPart[] => (part.subParts ? part.subParts.flatMap(listLeaves) : [part]);
