/**
 * Examples of the API document: one for each JSON request and answer, composed from its schema, and one error for each operation.
 * The example of a value is the schema's own `example`, else it comes from the tables below, else from its type.
 */
import { problem, toProblemBody } from './problem.ts';

interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly enum?: readonly unknown[];
  readonly example?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
}

type Content = Record<string, { schema?: unknown; example?: unknown }>;

interface Operation {
  readonly operationId?: string;
  readonly requestBody?: { readonly content?: Content };
  readonly responses?: Record<string, { readonly content?: Content }>;
}

/** The parts of an OpenAPI document to which examples are added. */
export interface ExampleDocument {
  readonly paths?: object;
  readonly components?: object;
}

const TIME = '2026-11-05T09:30:00.000Z';
const ID = '3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21';
const ADA = { name: 'Ada Lovelace', email: 'ada@example.test' };

const UPDATE = { user_id: 'player-7f3a', points: 25, event_id: 'match-8812' };
const CORRECTION = { score: 1200, reason: 'Points of a match that was annulled' };

/**
 * Bodies of requests by operation id, for requests whose members depend on each other. The examples of other requests have the
 * required members.
 */
const REQUESTS: Readonly<Record<string, unknown>> = {
  addScore: { ...UPDATE, user_name: 'Ada' },
  addScores: { updates: [UPDATE] },
  correctScore: CORRECTION,
  addScoreOfBoard: { ...UPDATE, user_name: 'Ada' },
  addScoresOfBoard: { updates: [UPDATE] },
  correctScoreOfBoard: CORRECTION,
  updateOwnAccount: { signature: 'Ada Lovelace' },
  updateMessage: { is_read: true, labels: ['invoices'] },
  updateMessages: { query: 'in:inbox older_than:1y', is_read: true },
  sendMessage: { to: [{ name: 'Grace Hopper', email: 'grace@example.test' }], subject: 'Lunch', body: 'At noon?' },
  createDraft: { to: [ADA], subject: 'Lunch', body: 'At' },
  replaceDraft: { to: [ADA], subject: 'Lunch', body: 'At noon?' },
  updateDomain: { catch_all: 'ada@example.test' },
  renameFolder: { name: 'Receipts' },
  createShareLink: { bucket: 'photos', prefix: '2026/', password: 'open sesame' },
  createStorageJob: { kind: 'restore', bucket: 'photos', prefix: '2026/', at: TIME, dry_run: true },
  setBucketQuota: { bytes: 10 * 1024 ** 3 },
  setUserQuota: { bytes: 10 * 1024 ** 3, objects: 100_000 },
};

/** Complete examples of components, by name of the component. */
const COMPONENTS: Readonly<Record<string, unknown>> = {
  PolicyDocument: {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: ['s3:GetObject', 's3:PutObject'], Resource: ['arn:aws:s3:::photos/*'] }],
  },
  Vacation: { enabled: true, subject: 'Away', body: 'I am back on Monday.', starts_at: null, ends_at: null },
  Events: { state: '42', changes: [{ type: 'message_updated', message_id: ID, folder_id: 'inbox', is_read: true }] },
};

/**
 * Example values of members. A key is `<component>.<name>`, `<operation id>.<name>` for members outside of components, or the name
 * alone. A value is used only where the schema accepts it.
 */
const MEMBERS: Readonly<Record<string, unknown>> = {
  'Folder.name': 'Projects',
  'Folder.role': null,
  'LeaderboardEntry.user_id': 'player-7f3a',
  'correctScore.user_id': 'player-7f3a',
  'Season.players': null,
  'Season.closed_at': null,
  'createToken.scopes': ['scores:write'],
  'Token.scopes': ['scores:write'],
  'NewToken.scopes': ['scores:write'],
  'createToken.name': 'game-server',
  'createOwnToken.name': 'Thunderbird',
  'NewAppToken.name': 'Thunderbird',
  'NewAppToken.token': 'tok_hT2rJ7m1xw4Qe9Zb0sVkYc',
  'listUserPolicies.name': 'photos',
  'scrubStorage.name': 'beach.jpg',
  'OutboundQueue.size': 1,
  'DomainDetail.value': 'v=spf1 include:example.net -all',
  'DomainDetail.purpose': 'SPF: who may send',
  'OutboundError.code': 'too_large',
  'OutboundError.detail': 'The attachments exceed 25 MB.',
  'DomainDetail.is_hosted': true,
  'Domain.is_hosted': true,
  alias_of: null,
  'FolderName.name': 'Projects',
  'Filter.name': 'Invoices to their folder',
  'FilterRequest.name': 'Invoices to their folder',
  'Attachment.file_name': 'invoice.pdf',
  'Token.name': 'game-server',
  'NewToken.token': 'tok_hT2rJ7m1xw4Qe9Zb0sVkYc',
  'AppToken.name': 'Thunderbird',
  'Label.name': 'invoices',
  'Change.type': 'message_changed',
  'DomainDetail.name': 'example.test',
  access_key_id: 'AKIAIOSFODNN7EXAMPLE',
  secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  user_id: ID,
  user_name: 'Ada',
  name: ADA.name,
  email: ADA.email,
  to: ADA.email,
  password: 'correct horse battery',
  current_password: 'correct horse battery',
  new_password: 'battery staple correct',
  totp: '492039',
  'confirmForwardTarget.code': '49203911',
  token: 'ses_hT2rJ7m1xw4Qe9Zb0sVkYc',
  season: '2026-11',
  domain: 'example.test',
  destination: 'example.net',
  bucket: 'photos',
  subject: 'Invoice 8812',
  body: 'The invoice is attached.',
  preview: 'The invoice is attached.',
  snippet: 'The invoice is attached.',
  file_name: 'invoice.pdf',
  content_type: 'application/pdf',
  label: 'invoices',
  labels: ['invoices'],
  scopes: ['mail'],
  addresses: [ADA.email],
  recipients: ['grace@example.net'],
  recovery_codes: ['7kq2-m9tb-x4fd'],
  unavailable: ['BLOBS_2'],
  cc: [],
  bcc: [],
  reply_to: [],
  references: [],
  missing: [],
  unreadable: [],
  examples: [],
  failures: [],
  lost_versions: [],
  turned_away: [],
  from: ADA.email,
  signature: ADA.name,
  invite: 'hPcnuatg_SVeFXQ0e5R4vHOt',
  day: '2026-11-05',
  note: 'Met at the conference',
  limit_bytes: 5 * 1024 ** 3,
  attachment_limit_bytes: 25 * 1024 ** 2,
  outside_attachment_limit_bytes: 3_778_530,
  value: 'invoice',
  folder_id: 'inbox',
  role: 'inbox',
  reason: 'Points of a match that was annulled',
  operator: 'root',
  next_cursor: null,
  otpauth_url: 'otpauth://totp/Tessera:ada%40example.test?secret=JBSWY3DPEHPK3PXP&issuer=Tessera',
  secret: 'JBSWY3DPEHPK3PXP',
  state: '42',
  version: '0.2.0',
  date: TIME,
  score: 1225,
  points: 25,
  rank: 1,
  players: 1,
  total: 1,
  percentile: 100,
  size: 48_213,
  smtp_code: 250,
  detail: '2.1.5 OK',
  location: 'BLOBS',
};

/** Examples of bodies that are not JSON, by media type. */
const RAW: Readonly<Record<string, string>> = {
  'text/csv': 'rank,user_id,user_name,score\r\n1,"player-7f3a","Ada",1225\r\n',
  'message/rfc822': 'From: ada@example.test\r\nSubject: Invoice 8812\r\n\r\nThe invoice is attached.\r\n',
  'application/mbox': 'From ada@example.test Thu Nov  5 09:30:00 2026\nSubject: Invoice 8812\n\nAttached.\n',
};

const INVALID = { errors: [{ path: 'no_such_parameter', message: 'unknown query parameter' }] };
const PROBLEM = toProblemBody(
  problem(400, 'invalid_request', 'The request does not have the documented form.', INVALID),
  ID,
);

/** Adds examples to the request and response bodies of every operation. */
export function addExamples(document: ExampleDocument): void {
  const { schemas = {} } = (document.components ?? {}) as { schemas?: Record<string, JsonSchema> };
  for (const operations of Object.values((document.paths ?? {}) as Record<string, Record<string, Operation>>)) {
    for (const { operationId = '', requestBody, responses = {} } of Object.values(operations)) {
      addToContent(requestBody?.content, (schema) =>
        operationId in REQUESTS ? REQUESTS[operationId] : compose(schema, schemas, 'required', '', operationId),
      );
      for (const { content } of Object.values(responses))
        addToContent(content, (schema) => compose(schema, schemas, 'all', '', operationId));
      const problemContent = responses[400]?.content?.['application/problem+json'];
      if (problemContent !== undefined) problemContent.example = PROBLEM;
    }
  }
}

function addToContent(content: Content = {}, makeExample: (schema: JsonSchema) => unknown): void {
  for (const [type, media] of Object.entries(content)) {
    if (type === 'application/json') media.example = makeExample((media.schema ?? {}) as JsonSchema);
    else if (type in RAW) media.example = RAW[type];
  }
}

/**
 * Composes a value that a schema accepts.
 * @param members which members of an object to include: the required ones, or all.
 * @param name name of the member that gets the value. @param component name of the component that has the member.
 */
export function compose(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  members: 'required' | 'all',
  name = '',
  component = '',
): unknown {
  const again = (inner: JsonSchema) => compose(inner, schemas, members, name, component);
  if (schema.example !== undefined) return schema.example;
  if (schema.$ref !== undefined) {
    const referred = schema.$ref.split('/').at(-1) ?? '';
    if (referred in COMPONENTS) return COMPONENTS[referred];
    return compose(schemas[referred] ?? {}, schemas, members, name, referred);
  }
  for (const key of [`${component}.${name}`, name])
    if (key in MEMBERS && fits(MEMBERS[key], schema)) return MEMBERS[key];
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return again(schema.anyOf[0] ?? {});
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((part) => again(part) as object));
  if (schema.default !== undefined) return schema.default;
  switch (typesOf(schema)[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([member]) => members === 'all' || schema.required?.includes(member))
          .map(([member, inner]) => [member, compose(inner, schemas, members, member, component)]),
      );
    case 'array':
      return schema.items === undefined ? [] : [again(schema.items)];
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'boolean':
      return /^(finished|complete|enabled|is_read|is_current|is_primary)$/.test(name);
    case 'string':
      return composeText(schema, name);
    default:
      return null;
  }
}

function composeText({ format, type }: JsonSchema, name: string): string | null {
  if (format === 'date-time' || /_at$|^as_of$/.test(name)) return TIME;
  if (name.endsWith('id')) return ID;
  return type === 'string' ? name.replaceAll('_', ' ') || 'text' : null;
}

const typesOf = ({ type = [] }: JsonSchema): readonly string[] => (typeof type === 'string' ? [type] : type);

/** Whether an example value has the type and form of a schema. */
function fits(value: unknown, schema: JsonSchema): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  const types = typesOf(schema);
  if (value === null) return types.includes('null');
  if (typeof value === 'boolean') return types.includes('boolean');
  if (Array.isArray(value)) return types.includes('array') && value.every((item) => fits(item, schema.items ?? {}));
  if (typeof value === 'number') return types.includes('integer') || types.includes('number');
  if (typeof value !== 'string' || !types.includes('string')) return false;
  if (schema.format === 'date-time' && Number.isNaN(Date.parse(value))) return false;
  return (
    value.length >= (schema.minLength ?? 0) &&
    (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value))
  );
}
