/** Reads the Email that a client wants to create (RFC 8621 §4.6). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { parseParameters } from '../../mime/parameters.ts';
import {
  foldField,
  toAddressesValue,
  toDateValue,
  toGroupsValue,
  toMessageIdsValue,
  toTextValue,
  toUrlsValue,
} from '../domain/compose-headers.ts';
import { idSchema, utcDateSchema } from '../protocol/arguments.ts';
import type { Arguments, SetError } from '../protocol/method.ts';
import { invalidProperties } from '../protocol/standard.ts';
import { type HeaderForm, parseHeaderProperty } from './header-forms.ts';

const addressSchema = z.strictObject({ name: z.string().max(1_000).nullish(), email: z.string().max(1_000) });
const addressesSchema = z.array(addressSchema).max(1_000);
const messageIdsSchema = z.array(z.string().max(1_000)).max(1_000);
const dateSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/)
  .refine((text) => Number.isFinite(Date.parse(text)), 'must be a time');

/** Functions that write header values, by form. @throws ZodError if the value does not have the form. */
const WRITERS: Readonly<Record<HeaderForm, (value: unknown) => string>> = {
  Raw: (value) =>
    z
      .string()
      .parse(value)
      .replace(/\r\n|\r|\n/g, '\r\n')
      .replace(/\r\n(?![ \t])/g, ' ')
      .trim(),
  Text: (value) => toTextValue(z.string().parse(value)),
  Addresses: (value) => toAddressesValue(addressesSchema.parse(value)),
  GroupedAddresses: (value) =>
    toGroupsValue(z.array(z.strictObject({ name: z.string().nullish(), addresses: addressesSchema })).parse(value)),
  MessageIds: (value) => toMessageIdsValue(messageIdsSchema.parse(value)),
  Date: (value) => toDateValue(dateSchema.parse(value)),
  URLs: (value) => toUrlsValue(z.array(z.string()).parse(value)),
};

/** Properties of a new Email that are header fields, with the name and form of the field. */
const FIELDS: Readonly<Record<string, readonly [name: string, form: HeaderForm]>> = {
  from: ['From', 'Addresses'],
  sender: ['Sender', 'Addresses'],
  replyTo: ['Reply-To', 'Addresses'],
  to: ['To', 'Addresses'],
  cc: ['Cc', 'Addresses'],
  bcc: ['Bcc', 'Addresses'],
  subject: ['Subject', 'Text'],
  sentAt: ['Date', 'Date'],
  messageId: ['Message-ID', 'MessageIds'],
  inReplyTo: ['In-Reply-To', 'MessageIds'],
  references: ['References', 'MessageIds'],
};

export interface NewPart {
  /** Media type without parameters. */
  readonly type: string | null;
  /** Method of an iCalendar part (RFC 6047 §2.4). Without it, mail programs do not process an invitation or its answer. */
  readonly method: string | null;
  readonly partId: string | null;
  readonly blobId: string | null;
  readonly name: string | null;
  readonly disposition: string | null;
  readonly cid: string | null;
  readonly language: readonly string[] | null;
  readonly location: string | null;
  /** Further header fields of the part, folded. */
  readonly fields: readonly string[];
  readonly subParts: readonly NewPart[] | null;
}

export interface NewEmail {
  readonly mailboxIds: readonly string[];
  readonly keywords: readonly string[];
  readonly receivedAt: number | null;
  /** Header fields of the message, folded, without line ends. */
  readonly fields: readonly string[];
  readonly hasField: (name: string) => boolean;
  readonly body: NewPart | null;
  readonly values: Readonly<Record<string, string>>;
}

const partBase = {
  partId: z.string().max(255).nullish(),
  blobId: idSchema.nullish(),
  size: z.unknown().optional(),
  name: z.string().max(1_000).nullish(),
  type: z
    .string()
    .max(200)
    .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; *[\w-]+=(?:[\w.:+-]+|"[\x20-\x21\x23-\x5b\x5d-\x7e]*"))*$/)
    .nullish(),
  charset: z.string().nullish(),
  disposition: z
    .string()
    .regex(/^[\w-]{1,50}$/)
    .nullish(),
  cid: z
    .string()
    .max(900)
    .regex(/^[^\s<>]+$/)
    .nullish(),
  language: z.array(z.string().regex(/^[\w-]{1,50}$/)).nullish(),
  location: z
    .string()
    .max(900)
    .regex(/^[!-~]+$/)
    .nullish(),
  subParts: z.array(z.record(z.string(), z.unknown())).nullish(),
};
const partSchema = z.looseObject(partBase);
const DEPTH_MAX = 20;
const PARTS_MAX = 500;

const emailSchema = z.looseObject({
  mailboxIds: z.record(z.string(), z.literal(true)),
  keywords: z.record(z.string(), z.literal(true)).nullish(),
  receivedAt: utcDateSchema.nullish(),
  bodyStructure: z.record(z.string(), z.unknown()).nullish(),
  textBody: z.array(z.record(z.string(), z.unknown())).nullish(),
  htmlBody: z.array(z.record(z.string(), z.unknown())).nullish(),
  attachments: z.array(z.record(z.string(), z.unknown())).nullish(),
  bodyValues: z
    .record(
      z.string(),
      // Unknown members are ignored: Fastmail's samples, which many clients copy, give a charset.
      z.object({
        value: z.string(),
        isEncodingProblem: z.literal(false).optional(),
        isTruncated: z.literal(false).optional(),
      }),
    )
    .nullish(),
});
const OTHER_PROPERTIES: readonly string[] = Object.keys(emailSchema.shape);

class Refusal extends Error {
  readonly properties: readonly string[];
  constructor(properties: readonly string[], message: string) {
    super(message);
    this.properties = properties;
  }
}

export function readNewEmail(object: Arguments): Result<NewEmail, SetError> {
  const parsed = emailSchema.safeParse(object);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return err(invalidProperties([String(issue?.path[0] ?? '')], issue?.message));
  }
  const { mailboxIds, keywords, receivedAt, bodyValues } = parsed.data;
  if (Object.keys(mailboxIds).length === 0) return err(invalidProperties(['mailboxIds'], 'At least one mailbox.'));
  try {
    const fields = readFields(object, OTHER_PROPERTIES, '');
    const names = fields.map((field) => field.slice(0, field.indexOf(':')).toLowerCase());
    return ok({
      mailboxIds: Object.keys(mailboxIds),
      keywords: Object.keys(keywords ?? {}),
      receivedAt: receivedAt ? Date.parse(receivedAt) : null,
      fields,
      hasField: (name) => names.includes(name),
      body: readBodyParts(parsed.data),
      values: Object.fromEntries(Object.entries(bodyValues ?? {}).map(([id, { value }]) => [id, value])),
    });
  } catch (error) {
    if (error instanceof Refusal) return err(invalidProperties(error.properties, error.message));
    throw error;
  }
}

/** Writes the header fields of an email or a part. A field may be given in one form only. */
function readFields(object: Arguments, others: readonly string[], path: string): string[] {
  const fields: string[] = [];
  const seen = new Set<string>();
  for (const [property, value] of Object.entries(object)) {
    if (others.includes(property)) continue;
    const where = `${path}${property}`;
    const known = path === '' && Object.hasOwn(FIELDS, property) ? FIELDS[property] : undefined;
    const header = known ? { name: known[0], form: known[1], isAll: false } : parseHeaderProperty(property);
    if (!header) throw new Refusal([where], 'This property is unknown, or set by the server.');
    const name = known ? known[0] : (/^header:([^:]+)/.exec(property)?.[1] ?? header.name);
    const lower = name.toLowerCase();
    if (seen.has(lower)) throw new Refusal([where], `The field ${name} is given twice.`);
    if (path === '' && lower.startsWith('content-')) throw new Refusal([where], 'This field belongs to a body part.');
    if (lower === 'content-transfer-encoding' || lower === 'mime-version')
      throw new Refusal([where], 'The server decides this field.');
    seen.add(lower);
    if (value === null) continue;
    const values = header.isAll ? z.array(z.unknown()).safeParse(value) : { success: true as const, data: [value] };
    if (!values.success) throw new Refusal([where], 'A list of values is expected.');
    for (const each of values.data) fields.push(writeField(name, header.form, each, where));
  }
  return fields.filter((field) => !/^[^:]+:\s*$/.test(field) || field.startsWith('Subject:'));
}

function writeField(name: string, form: HeaderForm, value: unknown, where: string): string {
  try {
    return foldField(name, WRITERS[form](value));
  } catch (error) {
    if (error instanceof z.ZodError) throw new Refusal([where], error.issues[0]?.message ?? 'Invalid value.');
    throw error;
  }
}

function readBodyParts(email: z.output<typeof emailSchema>): NewPart | null {
  const { bodyStructure, textBody, htmlBody, attachments } = email;
  const count = { parts: 0 };
  if (bodyStructure) {
    const both = (['textBody', 'htmlBody', 'attachments'] as const).filter((name) => email[name]);
    if (both.length > 0) throw new Refusal(['bodyStructure', ...both], 'Give bodyStructure or the lists, not both.');
    return readPart(bodyStructure, 'bodyStructure', 0, count);
  }
  const one = (list: readonly Arguments[] | null | undefined, name: string, type: string): NewPart | null => {
    const [part] = list ?? [];
    if (!part) return null;
    if (list?.length !== 1 || (readType(part.type == null ? null : String(part.type)).type ?? type) !== type)
      throw new Refusal([name], `Exactly one part of ${type}.`);
    return readPart({ ...part, type }, name, 0, count);
  };
  const text = one(textBody, 'textBody', 'text/plain');
  const html = one(htmlBody, 'htmlBody', 'text/html');
  const files = (attachments ?? []).map((part, at) => readPart(part, `attachments/${at}`, 0, count));
  const isInline = (part: NewPart) => html !== null && part.cid !== null && part.disposition === 'inline';
  const related = wrap('multipart/related', [html, ...files.filter(isInline)]);
  const body = wrap('multipart/alternative', [text, related]);
  return wrap('multipart/mixed', [
    body,
    ...files
      .filter((part) => !isInline(part))
      .map((part) => ({ ...part, disposition: part.disposition ?? 'attachment' })),
  ]);
}

/** Wraps parts in a multipart. A single part is not wrapped. */
function wrap(type: string, parts: readonly (NewPart | null)[]): NewPart | null {
  const subParts = parts.filter((part) => part !== null);
  return subParts.length > 1 ? { ...EMPTY, type, subParts } : (subParts[0] ?? null);
}

const EMPTY: NewPart = {
  type: null,
  method: null,
  partId: null,
  blobId: null,
  name: null,
  disposition: null,
  cid: null,
  language: null,
  location: null,
  fields: [],
  subParts: null,
};

function readPart(object: Arguments, path: string, depth: number, count: { parts: number }): NewPart {
  count.parts += 1;
  if (depth > DEPTH_MAX || count.parts > PARTS_MAX) throw new Refusal([path], 'Too many parts, or nested too deeply.');
  const parsed = partSchema.safeParse(object);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Refusal([`${path}/${String(issue?.path[0] ?? '')}`], issue?.message ?? 'Invalid part.');
  }
  const { type, method } = readType(parsed.data.type ?? null);
  const part = { ...parsed.data, type };
  const isMultipart = part.type?.startsWith('multipart/') ?? false;
  if (part.partId != null && (part.blobId != null || part.charset != null))
    throw new Refusal([`${path}/partId`], 'A part with partId has neither blobId nor charset.');
  if (isMultipart ? !part.subParts?.length : part.subParts?.length)
    throw new Refusal([`${path}/subParts`], 'A multipart, and only a multipart, has subParts.');
  if (!isMultipart && (part.partId == null) === (part.blobId == null))
    throw new Refusal([path], 'A part has either partId or blobId.');
  if (part.partId != null && part.size !== undefined)
    throw new Refusal([`${path}/size`], 'The server decides the size of a part with partId.');
  if (part.partId != null && part.type != null && !part.type.startsWith('text/'))
    throw new Refusal([`${path}/type`], 'A part with partId is text.');
  return {
    type,
    method,
    partId: part.partId ?? null,
    blobId: part.blobId ?? null,
    name: part.name ?? null,
    disposition: part.disposition ?? null,
    cid: part.cid ?? null,
    language: part.language ?? null,
    location: part.location ?? null,
    fields: readFields(object, Object.keys(partBase), `${path}/`),
    subParts: isMultipart
      ? (part.subParts ?? []).map((each, at) => readPart(each, `${path}/subParts/${at}`, depth + 1, count))
      : null,
  };
}

/**
 * Splits the type of a part. RFC 8621 §4.1.4 has no parameters in it, but widely used clients give them. Of these only the method of a
 * calendar is kept; charset and boundary are the server's.
 */
function readType(given: string | null): Pick<NewPart, 'type' | 'method'> {
  if (given === null) return { type: null, method: null };
  const { value, parameters } = parseParameters(given);
  const method = parameters.get('method') ?? '';
  return { type: value, method: value === 'text/calendar' && /^[A-Za-z-]{1,30}$/.test(method) ? method : null };
}
