/** Tests event notifications: their document, their routes, and the message as consumers of AWS's events expect it. */
import type { S3Event } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { isPublicUrl } from '../../../workers/shared/settings/public-url.ts';
import {
  doOverlap,
  findRoutes,
  kindsOf,
  type NotificationRule,
  notificationOf,
  type StoredEvent,
  toEventMessage,
} from '../../../workers/storage/domain/notifications.ts';
import {
  parseNotification,
  toNotificationElements,
} from '../../../workers/storage/s3/documents/notification-document.ts';
import { xmlDocument } from '../../../workers/storage/s3/protocol/xml.ts';

const QUEUE = '<Queue>arn:aws:sqs:us-east-1:123456789012:storage-events</Queue>';
const ALL = '<Event>s3:ObjectCreated:*</Event>';
const hook = (url: string) => `<TopicConfiguration><Topic>arn:aws:sns:::${url}</Topic>${ALL}</TopicConfiguration>`;
const parse = (inner: string) =>
  parseNotification(
    `<NotificationConfiguration>${inner}</NotificationConfiguration>`,
    () => crypto.randomUUID(),
    (url) => isPublicUrl({} as Env, url),
  );
const codeOf = (inner: string): string => {
  const parsed = parse(inner);
  return parsed.ok ? 'accepted' : parsed.error.code;
};
function rulesOf(inner: string): readonly NotificationRule[] {
  const parsed = parse(inner);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.value;
}
const filtered = (prefix: string, suffix: string, event = 's3:ObjectCreated:*') =>
  `<QueueConfiguration>${QUEUE}<Event>${event}</Event><Filter><S3Key><FilterRule><Name>Prefix</Name><Value>${prefix}</Value></FilterRule>
   <FilterRule><Name>suffix</Name><Value>${suffix}</Value></FilterRule></S3Key></Filter></QueueConfiguration>`;

describe('a notification configuration', () => {
  it.each([
    ['nothing', '', 'accepted'],
    ['a queue', `<QueueConfiguration>${QUEUE}${ALL}</QueueConfiguration>`, 'accepted'],
    [
      'another queue',
      `<QueueConfiguration><Queue>arn:aws:sqs:::other</Queue>${ALL}</QueueConfiguration>`,
      'InvalidArgument',
    ],
    ['a webhook', hook('https://hooks.example.com/s3?a=b'), 'accepted'],
    ['a webhook over HTTP', hook('http://hooks.example.com/'), 'InvalidArgument'],
    ['a webhook at a private address', hook('https://10.0.0.1/'), 'InvalidArgument'],
    ['a webhook at a private name', hook('https://db.internal/'), 'InvalidArgument'],
    ['a webhook at a port of mail', hook('https://hooks.example.com:25/'), 'InvalidArgument'],
    ['a webhook at 8443', hook('https://hooks.example.com:8443/'), 'accepted'],
    ['a webhook at this machine', hook('https://localhost/'), 'InvalidArgument'],
    ['no event', `<QueueConfiguration>${QUEUE}</QueueConfiguration>`, 'MalformedXML'],
    [
      'an unknown event',
      `<QueueConfiguration>${QUEUE}<Event>s3:Replication:*</Event></QueueConfiguration>`,
      'InvalidArgument',
    ],
    ['a function', '<CloudFunctionConfiguration/>', 'NotImplemented'],
    ['another element', '<Other/>', 'MalformedXML'],
    ['overlapping filters', filtered('a/', '.jpg') + filtered('a/b/', ''), 'InvalidArgument'],
    ['filters apart', filtered('a/', '.jpg') + filtered('a/', '.png'), 'accepted'],
    ['events apart', filtered('a/', '') + filtered('a/', '', 's3:ObjectRemoved:*'), 'accepted'],
  ])('with %s', (_, inner, code) => {
    expect(codeOf(inner)).toBe(code);
  });

  it('is returned as it was set', () => {
    const inner = `<QueueConfiguration><Id>a</Id>${QUEUE}${ALL}<Event>s3:ObjectRemoved:Delete</Event><Filter><S3Key><FilterRule><Name>prefix</Name><Value>in/</Value></FilterRule></S3Key></Filter></QueueConfiguration>`;
    const written = xmlDocument('NotificationConfiguration', toNotificationElements(rulesOf(inner)));
    expect(written.replace(/^.*\n<NotificationConfiguration[^>]*>/, '')).toBe(`${inner}</NotificationConfiguration>`);
  });

  it('selects events by kind, prefix and suffix', () => {
    const rules = rulesOf(filtered('in/', '.jpg') + filtered('in/', '', 's3:ObjectRemoved:Delete'));
    const count = (kind: Parameters<typeof findRoutes>[1], name: string) => findRoutes(rules, kind, name).length;
    expect([count('ObjectCreated:Copy', 'in/a.jpg'), count('ObjectCreated:Copy', 'in/a.png')]).toEqual([1, 0]);
    expect([count('ObjectRemoved:Delete', 'in/x'), count('ObjectRemoved:DeleteMarkerCreated', 'in/x')]).toEqual([1, 0]);
    expect(count('ObjectCreated:Put', 'out/a.jpg')).toBe(0);
    const whole = rulesOf(`<QueueConfiguration><Id>all</Id>${QUEUE}${ALL}</QueueConfiguration>`);
    expect(findRoutes(whole, 'ObjectCreated:Put', 'x')).toEqual([{ id: 'all', target: { kind: 'queue' } }]);
  });

  it('selects all kinds of a family by its wildcard, but AWS has none for ACLs', () => {
    expect(kindsOf('s3:ObjectTagging:*')).toEqual(['ObjectTagging:Put', 'ObjectTagging:Delete']);
    expect(kindsOf('s3:ObjectAcl:Put')).toEqual(['ObjectAcl:Put']);
    for (const none of ['s3:ObjectAcl:*', 's3:*', 'ObjectTagging:Put', 's3:ObjectTagging'])
      expect(kindsOf(none)).toEqual([]);
  });

  it.each([
    [['a', null], ['b', null], false],
    [['a', null], ['ab', null], true],
    [['ab', null], ['a', null], true],
    [[null, null], ['a', null], true],
    [[null, '.jpg'], [null, '.png'], false],
    [[null, 'jpg'], [null, '.jpg'], true],
    [['a', '.jpg'], ['ab', '.png'], false],
    [['a', null], [null, '.png'], true],
  ] as const)('overlaps if one name may match both %j and %j: %j', (a, b, expected) => {
    const of = ([prefix, suffix]: readonly [string | null, string | null], event: string): NotificationRule => ({
      ...{ id: 'i', target: { kind: 'queue' }, arn: '', events: [event], prefix, suffix },
    });
    expect(doOverlap(of(a, 's3:ObjectCreated:*'), of(b, 's3:ObjectCreated:Put'))).toBe(expected);
    expect(doOverlap(of(a, 's3:ObjectCreated:Put'), of(b, 's3:ObjectCreated:Post'))).toBe(false);
  });

  it('is empty for a bucket without one', () => {
    expect(notificationOf({})).toEqual([]);
    expect(notificationOf({ notification: '[{"id":"a"}]' })).toEqual([{ id: 'a' }]);
  });
});

describe('the message of an event', () => {
  const event: StoredEvent = {
    kind: 'ObjectCreated:Put',
    bucket: 'photos',
    name: 'a b/ü(1)+.jpg',
    occurredAt: Date.UTC(2026, 10, 22, 1, 2, 3),
    sequencer: '00066A0B1C2D3E4F',
    facts: {
      routes: [],
      ownerId: 'owner',
      principalId: 'caller',
      sourceIp: '192.0.2.1',
      requestId: 'r',
      region: null,
      versionId: 'v',
      size: 7,
      etag: 'abc',
    },
  };

  it('has the form that consumers of AWS expect', () => {
    const message = toEventMessage(event, 'rule');
    // The compiler checks that the message has AWS's type. Add size and ETag, which the type requires although AWS omits them from
    // events of removed objects.
    const typed: S3Event = {
      Records: message.Records.map(({ s3, ...record }) => ({
        ...record,
        s3: { ...s3, object: { size: 0, eTag: '', ...s3.object } },
      })),
    };
    expect(typed).toEqual(message);
    expect(message.Records[0]).toEqual({
      eventVersion: '2.1',
      eventSource: 'aws:s3',
      awsRegion: 'us-east-1',
      eventTime: '2026-11-22T01:02:03.000Z',
      eventName: 'ObjectCreated:Put',
      userIdentity: { principalId: 'caller' },
      requestParameters: { sourceIPAddress: '192.0.2.1' },
      responseElements: { 'x-amz-request-id': 'r', 'x-amz-id-2': 'r' },
      s3: {
        s3SchemaVersion: '1.0',
        configurationId: 'rule',
        bucket: { name: 'photos', ownerIdentity: { principalId: 'owner' }, arn: 'arn:aws:s3:::photos' },
        object: {
          key: 'a+b/%C3%BC%281%29%2B.jpg',
          size: 7,
          eTag: 'abc',
          versionId: 'v',
          sequencer: '00066A0B1C2D3E4F',
        },
      },
    });
    const key = decodeURIComponent((message.Records[0]?.s3.object.key ?? '').replaceAll('+', ' '));
    expect(key).toBe(event.name);
  });

  it('of a removed object has neither size nor ETag, and of an anonymous caller no name', () => {
    const { size, etag, ...facts } = event.facts;
    const [record] = toEventMessage(
      { ...event, facts: { ...facts, principalId: null, versionId: null, region: 'eu-west-1' } },
      'rule',
    ).Records;
    expect(record?.s3.object).toStrictEqual({ key: 'a+b/%C3%BC%281%29%2B.jpg', sequencer: '00066A0B1C2D3E4F' });
    expect([record?.userIdentity.principalId, record?.awsRegion]).toEqual(['Anonymous', 'eu-west-1']);
  });
});
