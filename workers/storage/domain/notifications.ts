/** Event notifications: which destinations an event goes to, and the JSON that they get (Amazon S3 User Guide, "Event notifications"). Pure. */

export const EVENT_KINDS = [
  'ObjectCreated:Put',
  'ObjectCreated:Post',
  'ObjectCreated:Copy',
  'ObjectCreated:CompleteMultipartUpload',
  'ObjectRemoved:Delete',
  'ObjectRemoved:DeleteMarkerCreated',
  'LifecycleExpiration:Delete',
  'LifecycleExpiration:DeleteMarkerCreated',
  'ObjectTagging:Put',
  'ObjectTagging:Delete',
  'ObjectAcl:Put',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Destination of event notifications: the queue of this deployment, or a URL. */
export type EventTarget = { readonly kind: 'queue' } | { readonly kind: 'webhook'; readonly url: string };

export interface NotificationRule {
  readonly id: string;
  readonly target: EventTarget;
  /** ARN of the notification's destination, as the client set it. */
  readonly arn: string;
  /** Events that the rule selects, such as `s3:ObjectCreated:*`. */
  readonly events: readonly string[];
  readonly prefix: string | null;
  readonly suffix: string | null;
}

/** A destination of one event, with the id of the rule that selected it. */
export interface EventRoute {
  readonly id: string;
  readonly target: EventTarget;
}

/**
 * Finds the kinds of events that a pattern of a rule selects.
 * @param pattern name of an event, such as `s3:ObjectCreated:Put`, or a pattern like `s3:ObjectCreated:*`.
 * @returns the kinds of events that it selects.
 */
export const kindsOf = (pattern: string): EventKind[] =>
  EVENT_KINDS.filter((kind) => pattern === `s3:${kind}` || pattern === toWildcard(kind));

/** The pattern that selects all events of this type, such as `s3:ObjectCreated:*`. AWS has none for `s3:ObjectAcl`. */
const toWildcard = (kind: EventKind): string | null => (kind === 'ObjectAcl:Put' ? null : `s3:${kind.split(':')[0]}:*`);

export const findRoutes = (rules: readonly NotificationRule[], kind: EventKind, name: string): EventRoute[] =>
  rules
    .filter(({ events, prefix, suffix }) => {
      const isSelected = events.some((pattern) => kindsOf(pattern).includes(kind));
      return isSelected && name.startsWith(prefix ?? '') && name.endsWith(suffix ?? '');
    })
    .map(({ id, target }) => ({ id, target }));

/** Whether some event of some name could match both rules. S3 refuses such a pair of rules. */
export function doOverlap(a: NotificationRule, b: NotificationRule): boolean {
  const kinds = new Set(a.events.flatMap(kindsOf));
  if (!b.events.flatMap(kindsOf).some((kind) => kinds.has(kind))) return false;
  const isNested = (x: string, y: string) => x.startsWith(y) || y.startsWith(x);
  const reversed = (text: string | null) => [...(text ?? '')].reverse().join('');
  return isNested(a.prefix ?? '', b.prefix ?? '') && isNested(reversed(a.suffix), reversed(b.suffix));
}

/** The notification rules of a bucket. @param configuration the configuration documents of the bucket. */
export const notificationOf = (
  configuration: Readonly<Partial<Record<string, string>>>,
): readonly NotificationRule[] =>
  configuration.notification === undefined ? [] : (JSON.parse(configuration.notification) as NotificationRule[]);

/** Facts of an event, stored until its notification is sent. */
export interface EventFacts {
  readonly routes: readonly EventRoute[];
  readonly ownerId: string;
  /** User who made the change; null if the request had no credential. */
  readonly principalId: string | null;
  readonly sourceIp: string;
  readonly requestId: string;
  readonly region: string | null;
  /** Id of the version that the event is about; null if S3 shows that version without an id. */
  readonly versionId: string | null;
  /** Size of the object in bytes. Only in events about created objects. */
  readonly size?: number;
  readonly etag?: string;
}

export interface StoredEvent {
  readonly kind: string;
  readonly bucket: string;
  readonly name: string;
  readonly occurredAt: number;
  /** Text that orders the events of one name: a later event has a greater sequencer. */
  readonly sequencer: string;
  readonly facts: EventFacts;
}

/**
 * An object's name in an event message is encoded as in a URL's query: a space is `+`, slashes stay (User Guide, "Event message
 * structure").
 */
const toEventKey = (name: string): string =>
  encodeURIComponent(name)
    .replaceAll('%20', '+')
    .replaceAll('%2F', '/')
    .replace(/[!'()]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Makes the JSON message of an event. @param ruleId id of the rule that selected the event. */
export function toEventMessage({ kind, bucket, name, occurredAt, sequencer, facts }: StoredEvent, ruleId: string) {
  const { size, etag, versionId } = facts;
  return {
    Records: [
      {
        eventVersion: '2.1',
        eventSource: 'aws:s3',
        awsRegion: facts.region ?? 'us-east-1',
        eventTime: new Date(occurredAt).toISOString(),
        eventName: kind,
        userIdentity: { principalId: facts.principalId ?? 'Anonymous' },
        requestParameters: { sourceIPAddress: facts.sourceIp },
        responseElements: { 'x-amz-request-id': facts.requestId, 'x-amz-id-2': facts.requestId },
        s3: {
          s3SchemaVersion: '1.0',
          configurationId: ruleId,
          bucket: { name: bucket, ownerIdentity: { principalId: facts.ownerId }, arn: `arn:aws:s3:::${bucket}` },
          object: {
            key: toEventKey(name),
            ...(size === undefined ? {} : { size }),
            ...(etag === undefined ? {} : { eTag: etag }),
            ...(versionId === null ? {} : { versionId }),
            sequencer,
          },
        },
      },
    ],
  };
}
