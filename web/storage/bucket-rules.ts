/** The lifecycle rules and the event notifications of a bucket, as forms show them. */
import { EVENT_KINDS, type EventKind, kindsOf } from '../../workers/storage/domain/notifications.ts';
import { deleteDocument, NAMESPACE, readDocument, writeDocument } from './bucket-documents.ts';
import type { Key } from './s3.ts';
import { childrenOf, type Element, escapeXml, parseXml, textOf } from './xml.ts';

const NONE: Element = { name: '', text: '', children: [] };
const childOf = (element: Element, name: string): Element => childrenOf(element, name)[0] ?? NONE;
const tag = (name: string, text: string): string => (text === '' ? '' : `<${name}>${escapeXml(text)}</${name}>`);
const group = (name: string, content: string): string => (content === '' ? '' : `<${name}>${content}</${name}>`);

/** A lifecycle rule as its form has it. Numbers are the texts of their fields; an empty text means no value. */
export interface LifecycleRule {
  id: string;
  isEnabled: boolean;
  prefix: string;
  /** Tags of the filter: one `name=value` per line. */
  tags: string;
  sizeAbove: string;
  sizeBelow: string;
  /** When objects expire. `markers`: removes delete markers that have no version below them. */
  expiration: 'never' | 'days' | 'date' | 'markers';
  days: string;
  /** Date in the form `2026-11-23`. */
  date: string;
  noncurrentDays: string;
  newerVersions: string;
  abortDays: string;
}

export const newLifecycleRule = (): LifecycleRule => ({
  id: '',
  isEnabled: true,
  prefix: '',
  tags: '',
  sizeAbove: '',
  sizeBelow: '',
  expiration: 'never',
  days: '',
  date: '',
  noncurrentDays: '30',
  newerVersions: '',
  abortDays: '7',
});

function toLifecycleRule(rule: Element): LifecycleRule {
  const filter = childOf(rule, 'Filter');
  const and = childOf(filter, 'And');
  const conditions = and === NONE ? filter : and;
  const expiration = childOf(rule, 'Expiration');
  const [days, date] = [textOf(expiration, 'Days'), textOf(expiration, 'Date').slice(0, 10)];
  const markers = textOf(expiration, 'ExpiredObjectDeleteMarker') === 'true';
  const noncurrent = childOf(rule, 'NoncurrentVersionExpiration');
  return {
    id: textOf(rule, 'ID'),
    isEnabled: textOf(rule, 'Status') === 'Enabled',
    prefix: textOf(conditions, 'Prefix') || textOf(rule, 'Prefix'),
    tags: childrenOf(conditions, 'Tag')
      .map((one) => `${textOf(one, 'Key')}=${textOf(one, 'Value')}`)
      .join('\n'),
    sizeAbove: textOf(conditions, 'ObjectSizeGreaterThan'),
    sizeBelow: textOf(conditions, 'ObjectSizeLessThan'),
    expiration: days ? 'days' : date ? 'date' : markers ? 'markers' : 'never',
    days,
    date,
    noncurrentDays: textOf(noncurrent, 'NoncurrentDays'),
    newerVersions: textOf(noncurrent, 'NewerNoncurrentVersions'),
    abortDays: textOf(childOf(rule, 'AbortIncompleteMultipartUpload'), 'DaysAfterInitiation'),
  };
}

export async function readLifecycle(key: Key, bucket: string): Promise<LifecycleRule[]> {
  const text = await readDocument(key, bucket, 'lifecycle');
  return text === null ? [] : childrenOf(parseXml(text), 'Rule').map(toLifecycleRule);
}

function toFilterXml({ prefix, tags, sizeAbove, sizeBelow }: LifecycleRule): string {
  const lines = tags.split('\n').filter((line) => line.trim() !== '');
  const toTag = (line: string) => {
    const [name = '', ...value] = line.split('=');
    return `<Tag><Key>${escapeXml(name.trim())}</Key><Value>${escapeXml(value.join('=').trim())}</Value></Tag>`;
  };
  const conditions = [
    tag('Prefix', prefix),
    ...lines.map(toTag),
    tag('ObjectSizeGreaterThan', sizeAbove),
    tag('ObjectSizeLessThan', sizeBelow),
  ].filter(Boolean);
  const content = conditions.join('') || '<Prefix></Prefix>';
  return group('Filter', conditions.length > 1 ? group('And', content) : content);
}

function toLifecycleXml(rule: LifecycleRule): string {
  const expirations: Record<LifecycleRule['expiration'], string> = {
    never: '',
    days: tag('Days', rule.days),
    date: tag('Date', rule.date && `${rule.date}T00:00:00Z`),
    markers: tag('ExpiredObjectDeleteMarker', 'true'),
  };
  const noncurrent = tag('NoncurrentDays', rule.noncurrentDays) + tag('NewerNoncurrentVersions', rule.newerVersions);
  return group(
    'Rule',
    tag('ID', rule.id) +
      toFilterXml(rule) +
      tag('Status', rule.isEnabled ? 'Enabled' : 'Disabled') +
      group('Expiration', expirations[rule.expiration]) +
      group('NoncurrentVersionExpiration', noncurrent) +
      group('AbortIncompleteMultipartUpload', tag('DaysAfterInitiation', rule.abortDays)),
  );
}

/** Writes the lifecycle rules. Without rules, the lifecycle document is deleted. */
export async function writeLifecycle(key: Key, bucket: string, rules: readonly LifecycleRule[]): Promise<void> {
  const content = rules.map(toLifecycleXml).join('');
  if (rules.length === 0) await deleteDocument(key, bucket, 'lifecycle');
  else {
    const document = `<LifecycleConfiguration ${NAMESPACE}>${content}</LifecycleConfiguration>`;
    await writeDocument(key, bucket, 'lifecycle', document);
  }
}

export interface EventRule {
  id: string;
  target: 'queue' | 'webhook';
  url: string;
  kinds: EventKind[];
  prefix: string;
  suffix: string;
}

export const newEventRule = (): EventRule => ({
  id: '',
  target: 'webhook',
  url: '',
  kinds: kindsOf('s3:ObjectCreated:*'),
  prefix: '',
  suffix: '',
});

const QUEUE_ARN = 'arn:aws:sqs:::storage-events';
const WEBHOOK_ARN = 'arn:aws:sns:::';
const FORMS = { queue: ['QueueConfiguration', 'Queue'], webhook: ['TopicConfiguration', 'Topic'] } as const;

function toEventRule(node: Element): EventRule {
  const target = node.name === FORMS.queue[0] ? 'queue' : 'webhook';
  const patterns = childrenOf(node, 'Event').map(({ text }) => text);
  const filters = childrenOf(childOf(childOf(node, 'Filter'), 'S3Key'), 'FilterRule');
  const filterOf = (name: string) =>
    textOf(filters.find((one) => textOf(one, 'Name').toLowerCase() === name) ?? NONE, 'Value');
  return {
    id: textOf(node, 'Id'),
    target,
    url: target === 'queue' ? '' : textOf(node, 'Topic').split(':').slice(5).join(':'),
    kinds: EVENT_KINDS.filter((kind) => patterns.some((pattern) => kindsOf(pattern).includes(kind))),
    prefix: filterOf('prefix'),
    suffix: filterOf('suffix'),
  };
}

export async function readEvents(key: Key, bucket: string): Promise<EventRule[]> {
  const text = await readDocument(key, bucket, 'notification');
  return text === null ? [] : parseXml(text).children.map(toEventRule);
}

/** Returns `s3:<group>:*` for each group whose kinds are all chosen, and one pattern for each kind otherwise. */
function toPatterns(kinds: readonly EventKind[]): string[] {
  const groups = [...new Set(kinds.map((kind) => `s3:${kind.split(':')[0]}:*`))];
  return groups.flatMap((pattern) => {
    const all = kindsOf(pattern);
    if (all.every((kind) => kinds.includes(kind))) return [pattern];
    return all.filter((kind) => kinds.includes(kind)).map((kind) => `s3:${kind}`);
  });
}

function toEventXml({ id, target, url, kinds, prefix, suffix }: EventRule): string {
  const [form, destination] = FORMS[target];
  const toFilterRule = (name: string, value: string) =>
    value === '' ? '' : group('FilterRule', tag('Name', name) + tag('Value', value));
  return group(
    form,
    tag('Id', id) +
      tag(destination, target === 'queue' ? QUEUE_ARN : WEBHOOK_ARN + url.trim()) +
      toPatterns(kinds)
        .map((pattern) => tag('Event', pattern))
        .join('') +
      group('Filter', group('S3Key', toFilterRule('prefix', prefix) + toFilterRule('suffix', suffix))),
  );
}

/** Returns the secret that signs the webhooks of the bucket, or null without webhooks. */
export async function writeEvents(key: Key, bucket: string, rules: readonly EventRule[]): Promise<string | null> {
  const content = rules.map(toEventXml).join('');
  const document = `<NotificationConfiguration ${NAMESPACE}>${content}</NotificationConfiguration>`;
  const response = await writeDocument(key, bucket, 'notification', document);
  return response.headers.get('x-tessera-webhook-secret');
}
