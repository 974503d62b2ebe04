/**
 * Sends every command of the public S3 model to a running server. A command that is not implemented must not change the
 * bytes, entity tag, tags, ACL or versions of an object, or the configuration of its bucket.
 */
import {
  CreateBucketCommand,
  GetBucketAclCommand,
  GetBucketTaggingCommand,
  GetObjectAclCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  ListBucketsCommand,
  ListObjectVersionsCommand,
  PutBucketTaggingCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import {
  COMMANDS,
  IMPLEMENTED,
  NOT_IMPLEMENTED,
  toInput,
  UNSET,
  UNSET_WRITES,
} from '../../support/storage/s3-commands.ts';

const Bucket = 'kept';
const Key = 'key';
const TEXT = 'the only copy';

let server: TestServer;
let s3: S3Client;
let token: string;

beforeAll(async () => {
  server = await startServer();
  const owner = await server.createAccessKey('owner');
  const { accessKeyId, secretAccessKey } = owner;
  s3 = new S3Client({
    endpoint: server.url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    // Turn off host prefixes: with one, WriteGetObjectResponse would go to another host.
    disableHostPrefix: true,
    maxAttempts: 1,
  });
  const { body } = await server.call('POST', '/v1/iam/tokens', {
    name: 'raw',
    user_id: owner.userId,
    scopes: ['objects:read', 'objects:write'],
  });
  token = body.token;
  await s3.send(new CreateBucketCommand({ Bucket }));
  await s3.send(new PutBucketTaggingCommand({ Bucket, Tagging: { TagSet: [{ Key: 'team', Value: 'blue' }] } }));
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: TEXT, Tagging: 'colour=blue', Metadata: { a: '1' } }));
  await s3.send(new PutObjectCommand({ Bucket, Key: 'from', Body: 'another object' }));
});
afterAll(() => server[Symbol.asyncDispose]());

/** Describes the state of the objects and of the bucket that a wrongly detected operation could have changed. */
async function describeBucket() {
  const [object, versions, tags, acl, bucketTags, bucketAcl, buckets] = await Promise.all([
    s3.send(new GetObjectCommand({ Bucket, Key })),
    s3.send(new ListObjectVersionsCommand({ Bucket })),
    s3.send(new GetObjectTaggingCommand({ Bucket, Key })),
    s3.send(new GetObjectAclCommand({ Bucket, Key })),
    s3.send(new GetBucketTaggingCommand({ Bucket })),
    s3.send(new GetBucketAclCommand({ Bucket })),
    s3.send(new ListBucketsCommand({})),
  ]);
  return {
    text: await object.Body?.transformToString(),
    etag: object.ETag,
    metadata: object.Metadata,
    modified: object.LastModified,
    tags: tags.TagSet,
    acl: acl.Grants,
    versions: versions.Versions,
    markers: versions.DeleteMarkers,
    bucketTags: bucketTags.TagSet,
    bucketAcl: bucketAcl.Grants,
    buckets: buckets.Buckets?.map(({ Name }) => Name),
  };
}

/** Sends a command. @returns the status of a successful response, or the error code. */
async function answerTo(name: string, input: Readonly<Record<string, unknown>>): Promise<number | string> {
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (!command) throw new Error(`The SDK has no command ${name}.`);
  let status = 0;
  const wire = command.create(input);
  wire.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      status = (result.response as { statusCode: number }).statusCode;
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'status' },
  );
  return s3.send(wire).then(
    () => status,
    (error: Error) => error.name,
  );
}

describe('a command that is not implemented', () => {
  it.each(NOT_IMPLEMENTED)('%s is rejected and changes nothing', async (name) => {
    const before = await describeBucket();
    expect(before.text).toBe(TEXT);
    expect(await answerTo(name, { ...toInput(Bucket, Key), ...PAYLOADS[name] })).toBe('NotImplemented');
    expect(await describeBucket()).toEqual(before);
  });
});

describe('a command on a configuration that is never set', () => {
  it.each(Object.entries(UNSET))('%s answers %s and changes nothing', async (name, expected) => {
    const before = await describeBucket();
    expect(await answerTo(name, toInput(Bucket, Key))).toBe(expected);
    expect(await describeBucket()).toEqual(before);
  });
  it.each(Object.entries(UNSET_WRITES))('%s rejects a document that would change it', async (name, document) => {
    const before = await describeBucket();
    expect(await answerTo(name, { ...toInput(Bucket, Key), ...document })).toBe('NotImplemented');
    expect(await describeBucket()).toEqual(before);
  });
  it('accepts the default of ABAC, and returns it', async () => {
    expect(await answerTo('PutBucketAbac', { Bucket, AbacStatus: { Status: 'Disabled' } })).toBe(200);
    expect(await answerTo('PutBucketAbac', { Bucket, AbacStatus: {} })).toBe('NotImplemented');
    const read = await send('GET', `/${Bucket}?abac`);
    expect(await read.text()).toContain(
      '<AbacStatus xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Disabled<',
    );
  });
});

it('no implemented command gets NotImplemented', async () => {
  const before = await describeBucket();
  await s3.send(new CreateBucketCommand({ Bucket: 'scratch' }));
  const refused: string[] = [];
  // The SDK signs ListDirectoryBuckets for another service, `s3express`, so the signature does not match.
  expect(await answerTo('ListDirectoryBuckets', {})).toBe('AuthorizationHeaderMalformed');
  for (const name of Object.keys(IMPLEMENTED).filter((name) => name !== 'ListDirectoryBuckets')) {
    const answer = await answerTo(name, { ...toInput('scratch', 'key'), ...PAYLOADS[name] });
    if (answer === 'NotImplemented' || answer === 501) refused.push(name);
  }
  expect(refused).toEqual([]);
  expect({ ...(await describeBucket()), buckets: [] }).toEqual({ ...before, buckets: [] });
});

describe('a query parameter that S3 does not know', () => {
  it.each([
    ['PUT', '/kept/key?foo'],
    ['PUT', '/kept/key?foo='],
    ['PUT', '/kept/key?cors'],
    ['POST', '/kept/key?foo&uploads'],
    ['DELETE', '/kept/key?foo'],
    ['DELETE', '/kept/key?encryption'],
    ['DELETE', '/kept?foo'],
    ['PUT', '/new-bucket?foo'],
    ['PUT', '/new-bucket?metadataInventoryTable'],
    ['POST', '/kept?foo'],
  ])('is rejected without a value: %s %s', async (method, target) => {
    const before = await describeBucket();
    const answer = await send(method, target, 'POST PUT'.includes(method) ? 'other bytes' : null);
    const name = /\?([^=&]+)/.exec(target)?.[1];
    expect([answer.status, await answer.text()]).toEqual([501, expect.stringContaining(`&quot;${name}&quot;`)]);
    expect(await describeBucket()).toEqual(before);
  });

  it('never deletes a bucket: DELETE with parameters of other operations keeps an empty bucket', async () => {
    await s3.send(new CreateBucketCommand({ Bucket: 'still-here' }));
    const statuses: number[] = [];
    for (const name of ['abac', 'metadataConfiguration', 'foo', 'accelerate']) {
      statuses.push((await send('DELETE', `/still-here?${name}`)).status);
    }
    expect(statuses).toEqual([405, 404, 501, 405]);
    expect((await send('DELETE', '/still-here?versionId=v')).status).toBe(400);
    expect((await send('HEAD', '/still-here')).status).toBe(200);
  });

  it('is ignored if it has a value, and on reads', async () => {
    expect((await send('PUT', '/kept/other?x-id=PutObject&foo=bar', 'other')).status).toBe(200);
    expect(await (await send('GET', '/kept/other?foo&x-id=GetObject&bar=1')).text()).toBe('other');
    expect((await send('DELETE', '/kept/other?foo=bar')).status).toBe(204);
    expect((await send('GET', '/kept/other')).status).toBe(404);
  });
});

const send = (method: string, target: string, body: string | null = null) =>
  fetch(server.url + target, { method, headers: { authorization: `Bearer ${token}` }, body });

/** Request bodies of commands, so that neither the SDK nor the server rejects them for a missing body. */
const PAYLOADS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  PutBucketEncryption: {
    ServerSideEncryptionConfiguration: { Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }] },
  },
  PutObject: { Body: 'x' },
  PutObjectAnnotation: { Body: 'note', AnnotationPayload: 'note' },
  UploadPart: { Body: 'x' },
  WriteGetObjectResponse: { Body: 'x' },
};
