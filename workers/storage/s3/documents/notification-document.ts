/**
 * The notification configuration of a bucket (PutBucketNotificationConfiguration, GetBucketNotificationConfiguration).
 *
 * A `QueueConfiguration` sends to the queue of this deployment (`arn:aws:sqs:::storage-events`), a `TopicConfiguration` to a
 * webhook (`arn:aws:sns:::https://example.com/hook`). Gaps: functions, EventBridge and events of other kinds are refused.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { doOverlap, type EventTarget, kindsOf, type NotificationRule } from '../../domain/notifications.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childOf, childrenOf, parseXml, textOf, textsOf, type XmlElement } from '../protocol/xml-parser.ts';

const RULES_MAX = 100;
const ID_CHARACTERS_MAX = 255;
const VALUE_BYTES_MAX = 1_024;

const invalid = (message: string) => err(s3Failure('InvalidArgument', message));
const NO_DESTINATION = 'Unable to validate the following destination configurations';

/** For each kind of destination, the element of a rule and the child element that names the destination. */
const FORMS = { queue: ['QueueConfiguration', 'Queue'], webhook: ['TopicConfiguration', 'Topic'] } as const;

/**
 * Parses a notification configuration. @param mintId creates an Id for a rule without one. @param mayCall whether this service may
 * send to a URL.
 */
export function parseNotification(
  text: string,
  mintId: () => string,
  mayCall: (url: string) => boolean,
): Result<readonly NotificationRule[], S3Failure> {
  const root = parseXml(text, 'NotificationConfiguration');
  if (!root.ok) return root;
  const rules: NotificationRule[] = [];
  for (const node of root.value.children) {
    const kind = node.name === FORMS.queue[0] ? 'queue' : node.name === FORMS.webhook[0] ? 'webhook' : null;
    if (kind === null) {
      if (!/^(CloudFunction|LambdaFunction|EventBridge)Configuration$/.test(node.name))
        return err(s3Failure('MalformedXML'));
      return err(s3Failure('NotImplemented', `The destination "${node.name}" is not implemented.`));
    }
    const rule = parseRule(node, kind, mintId, mayCall);
    if (!rule.ok) return rule;
    rules.push(rule.value);
  }
  if (rules.length > RULES_MAX) return invalid(`A bucket can have at most ${RULES_MAX} event notifications.`);
  if (new Set(rules.map(({ id }) => id)).size < rules.length)
    return invalid('Same ID used for multiple configurations. IDs must be unique');
  const isOverlapping = rules.some((rule, index) => rules.slice(index + 1).some((other) => doOverlap(rule, other)));
  if (isOverlapping) {
    return invalid('Configurations overlap. Configurations on the same bucket cannot share a common event type.');
  }
  return ok(rules);
}

function parseRule(
  node: XmlElement,
  kind: EventTarget['kind'],
  mintId: () => string,
  mayCall: (url: string) => boolean,
): Result<NotificationRule, S3Failure> {
  const id = textOf(node, 'Id') || mintId();
  if ([...id].length > ID_CHARACTERS_MAX) return invalid('ID length should not exceed allowed limit of 255');
  const arn = textOf(node, FORMS[kind][1])?.trim() ?? '';
  const target = parseTarget(kind, arn);
  if (target === null || (target.kind === 'webhook' && !mayCall(target.url))) return invalid(NO_DESTINATION);
  const events = textsOf(node, 'Event').map((event) => event.trim());
  if (events.length === 0) return err(s3Failure('MalformedXML'));
  const unknown = events.find((event) => kindsOf(event).length === 0);
  if (unknown !== undefined) return invalid('The event is not supported for notifications');
  const filter = parseFilter(childOf(node, 'Filter'));
  return filter.ok ? ok({ id, target, arn, events, ...filter.value }) : filter;
}

function parseTarget(kind: EventTarget['kind'], arn: string): EventTarget | null {
  const [, service, resource = ''] = /^arn:[\w-]+:(sqs|sns):[^:]*:[^:]*:(.+)$/.exec(arn) ?? [];
  if (kind === 'queue') return service === 'sqs' && resource === 'storage-events' ? { kind } : null;
  return service === 'sns' ? { kind, url: resource } : null;
}

function parseFilter(filter: XmlElement | null): Result<Pick<NotificationRule, 'prefix' | 'suffix'>, S3Failure> {
  const found: { prefix: string | null; suffix: string | null } = { prefix: null, suffix: null };
  const key = filter && childOf(filter, 'S3Key');
  for (const node of key ? childrenOf(key, 'FilterRule') : []) {
    const name = textOf(node, 'Name')?.trim().toLowerCase();
    const value = textOf(node, 'Value') ?? '';
    if (name !== 'prefix' && name !== 'suffix') return invalid('filter rule name must be either prefix or suffix');
    if (found[name] !== null) return invalid(`Cannot specify more than one ${name} rule in a filter.`);
    if (Buffer.byteLength(value) > VALUE_BYTES_MAX) return invalid('filter value cannot exceed 1024 bytes');
    found[name] = value;
  }
  return ok(found);
}

export const toNotificationElements = (rules: readonly NotificationRule[]): XmlNode[] =>
  rules.map(({ id, target, arn, events, prefix, suffix }) => {
    const [form, destination] = FORMS[target.kind];
    const toFilterRule = (name: string, value: string | null) =>
      element('FilterRule', value === null ? null : [element('Name', name), element('Value', value)]);
    const hasFilter = prefix !== null || suffix !== null;
    return element(form, [
      element('Id', id),
      element(destination, arn),
      ...events.map((event) => element('Event', event)),
      element(
        'Filter',
        hasFilter ? element('S3Key', [toFilterRule('prefix', prefix), toFilterRule('suffix', suffix)]) : null,
      ),
    ]);
  });
