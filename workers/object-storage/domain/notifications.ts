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

/** Destination of events: the queue of this deployment, or a URL. */
export type EventTarget = { readonly kind: 'queue' } | { readonly kind: 'webhook'; readonly url: string };

export interface NotificationRule {
  readonly id: string;
  readonly target: EventTarget;
  /** ARN of the destination, as the client set it. */
  readonly arn: string;
  /** Such as `s3:ObjectCreated:*`. */
  readonly events: readonly string[];
  readonly prefix: string | null;
  readonly suffix: string | null;
}

/** A destination of one event, with the rule that selected it. */
export interface EventRoute {
  readonly id: string;
  readonly target: EventTarget;
}

/** @param pattern `s3:ObjectCreated:Put` or `s3:ObjectCreated:*`. @returns the kinds that it selects. */
export const kindsOf = (pattern: string): EventKind[] =>
  EVENT_KINDS.filter((kind) => pattern === `s3:${kind}` || pattern === toWildcard(kind));

/** AWS has no `s3:ObjectAcl:*`. */
const toWildcard = (kind: EventKind): string | null => (kind === 'ObjectAcl:Put' ? null : `s3:${kind.split(':')[0]}:*`);

export const findRoutes = (rules: readonly NotificationRule[], kind: EventKind, name: string): EventRoute[] =>
  rules
    .filter(({ events, prefix, suffix }) => {
      const isSelected = events.some((pattern) => kindsOf(pattern).includes(kind));
      return isSelected && name.startsWith(prefix ?? '') && name.endsWith(suffix ?? '');
    })
    .map(({ id, target }) => ({ id, target }));

/** Whether two rules could select the same event of the same name. S3 refuses such rules. */
export function doOverlap(a: NotificationRule, b: NotificationRule): boolean {
  const kinds = new Set(a.events.flatMap(kindsOf));
  if (!b.events.flatMap(kindsOf).some((kind) => kinds.has(kind))) return false;
  const isNested = (x: string, y: string) => x.startsWith(y) || y.startsWith(x);
  const reversed = (text: string | null) => [...(text ?? '')].reverse().join('');
  return isNested(a.prefix ?? '', b.prefix ?? '') && isNested(reversed(a.suffix), reversed(b.suffix));
}

/** @param configuration the configuration documents of a bucket. */
export const notificationOf = (
  configuration: Readonly<Partial<Record<string, string>>>,
): readonly NotificationRule[] =>
  configuration.notification === undefined ? [] : (JSON.parse(configuration.notification) as NotificationRule[]);

/** Facts of an event that are stored until it is sent. */
export interface EventFacts {
  readonly routes: readonly EventRoute[];
  readonly ownerId: string;
  /** Null for a change without a credential. */
  readonly principalId: string | null;
  readonly sourceIp: string;
  readonly requestId: string;
  readonly region: string | null;
  /** Null for a version that S3 shows without an id. */
  readonly versionId: string | null;
  /** Set for created objects only. */
  readonly size?: number;
  readonly etag?: string;
}

export interface StoredEvent {
  readonly kind: string;
  readonly bucket: string;
  readonly name: string;
  readonly occurredAt: number;
  /** Orders the events of one name: a later event has a greater sequencer. */
  readonly sequencer: string;
  readonly facts: EventFacts;
}

/** As in a URL's query: a space is `+`, and slashes stay (User Guide, "Event message structure"). */
const toEventKey = (name: string): string =>
  encodeURIComponent(name)
    .replaceAll('%20', '+')
    .replaceAll('%2F', '/')
    .replace(/[!'()]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** @param ruleId id of the rule that selected the event. @returns the message. */
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
