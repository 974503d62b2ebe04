/** Tests temporary keys with programs of others: AWS's CLI, boto3, and the SDK for JavaScript with its own provider of credentials. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintTemporaryKey } from '../../../workers/identity/secrets/temporary-keys.ts';
import { confirmSession, registerUser } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createJobClient } from '../../support/storage/jobs.ts';
import { createClients, createSdkClient, mustRun } from '../../support/storage/s3-client.ts';
import { sendRaw } from '../../support/storage/s3-raw.ts';
import { signLink } from '../../support/storage/sigv4-signer.ts';

const Bucket = 'builds';
const KEYS = ['app/1', 'app/2', 'apple', 'secret/1'];
let server: TestServer;
let owner: Awaited<ReturnType<TestServer['createAccessKey']>>;
let s3: S3Client;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', OWN_ACCESS_KEYS: 'true' } });
  owner = await server.createAccessKey('owner');
  s3 = createSdkClient(server.url, owner);
  await s3.send(new CreateBucketCommand({ Bucket }));
  for (const Key of KEYS) await s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
});
afterAll(() => server[Symbol.asyncDispose]());

const pathOf = (keyId: string) => `/v1/iam/access-keys/${keyId}/temporary-keys`;
async function make(wish: object = {}, keyId = owner.accessKeyId) {
  const { status, body } = await server.call('POST', pathOf(keyId), wish);
  expect([status, body.code]).toEqual([201, undefined]);
  return {
    accessKeyId: body.access_key_id as string,
    secretAccessKey: body.secret_access_key as string,
    sessionToken: body.session_token as string,
    expiresAt: Date.parse(body.expires_at),
  };
}
type Temporary = Omit<Awaited<ReturnType<typeof make>>, 'expiresAt'>;
const clientOf = (key: Temporary) => createSdkClient(server.url, key);
const codeOf = (sending: Promise<unknown>): Promise<string> =>
  sending.then(
    () => 'ok',
    (error: Error) => error.name,
  );
const get = (client: S3Client, Key: string) => codeOf(client.send(new GetObjectCommand({ Bucket, Key })));
const put = (client: S3Client, Key: string) => codeOf(client.send(new PutObjectCommand({ Bucket, Key, Body: 'new' })));
const list = (client: S3Client, Prefix?: string) =>
  codeOf(client.send(new ListObjectsV2Command({ Bucket, ...(Prefix === undefined ? {} : { Prefix }) })));

describe('a temporary key', () => {
  it('reads and lists below its prefix, and nothing else', async () => {
    const reader = clientOf(await make({ bucket: Bucket, prefix: 'app/', minutes: 5 }));
    expect(await get(reader, 'app/1')).toBe('ok');
    expect(await list(reader, 'app/')).toBe('ok');
    for (const refused of [get(reader, 'apple'), get(reader, 'secret/1'), list(reader), list(reader, 'app')]) {
      expect(await refused).toBe('AccessDenied');
    }
    expect(await put(reader, 'app/3')).toBe('AccessDenied');
    expect(await codeOf(reader.send(new CreateBucketCommand({ Bucket: 'another' })))).toBe('AccessDenied');
  });

  it('writes and deletes below its prefix, if it may', async () => {
    const writer = clientOf(await make({ bucket: Bucket, prefix: 'out/', actions: ['write'] }));
    expect(await put(writer, 'out/1')).toBe('ok');
    expect(await get(writer, 'out/1')).toBe('AccessDenied');
    expect(await put(writer, 'app/1')).toBe('AccessDenied');
    expect(await codeOf(writer.send(new DeleteObjectCommand({ Bucket, Key: 'out/1' })))).toBe('ok');
    expect(await codeOf(writer.send(new DeleteObjectCommand({ Bucket, Key: 'app/1' })))).toBe('AccessDenied');
  });

  it('takes the characters of a prefix literally', async () => {
    for (const Key of ['s*r/1', 'star/1', ['$', '{aws:username}/1'].join('')]) {
      await s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
    }
    const star = clientOf(await make({ bucket: Bucket, prefix: 's*r/' }));
    expect([await get(star, 's*r/1'), await get(star, 'star/1')]).toEqual(['ok', 'AccessDenied']);
    const prefix = ['$', '{aws:username}/'].join('');
    expect(await get(clientOf(await make({ bucket: Bucket, prefix })), `${prefix}1`)).toBe('ok');
  });

  it('has all rights of its access key, or those that a policy leaves', async () => {
    expect(await put(clientOf(await make()), 'all')).toBe('ok');
    const Statement = [
      { Effect: 'Allow', Action: 's3:*', Resource: '*' },
      { Effect: 'Deny', Action: 's3:GetObject', Resource: `arn:aws:s3:::${Bucket}/secret/*` },
    ];
    const limited = clientOf(await make({ policy: { Version: '2012-10-17', Statement } }));
    expect([await get(limited, 'apple'), await get(limited, 'secret/1')]).toEqual(['ok', 'AccessDenied']);
  });

  it('never has more rights than the user of its access key', async () => {
    const other = await server.createAccessKey('other');
    const Allow = { Effect: 'Allow', Action: 's3:*', Resource: '*' };
    const wish = { policy: { Version: '2012-10-17', Statement: [Allow] } };
    expect(await get(clientOf(await make(wish, other.accessKeyId)), 'app/1')).toBe('AccessDenied');
  });

  it('is refused without its session token, with another one, and after its time', async () => {
    const [one, two] = [await make(), await make()];
    const { sessionToken: _, ...bare } = one;
    expect(await get(createSdkClient(server.url, bare), 'app/1')).toBe('InvalidAccessKeyId');
    expect(await get(clientOf({ ...one, sessionToken: two.sessionToken }), 'app/1')).toBe('InvalidToken');
    expect(await get(clientOf({ ...one, sessionToken: `${one.sessionToken}A` }), 'app/1')).toBe('InvalidToken');
    expect(await get(clientOf({ ...owner, sessionToken: one.sessionToken }), 'app/1')).toBe('InvalidToken');
    expect(await get(clientOf({ ...one, secretAccessKey: two.secretAccessKey }), 'app/1')).toBe(
      'SignatureDoesNotMatch',
    );
    const { MASTER_KEY = '' } = parseEnv(readFileSync(join(server.directory, 'dev.vars'), 'utf8'));
    const before = Date.now() - 60_000;
    const grant = { parentKeyId: owner.accessKeyId, madeAt: before, expiresAt: before + 59_000, policy: null };
    expect(await get(clientOf(mintTemporaryKey(grant, { MASTER_KEY })), 'app/1')).toBe('ExpiredToken');
  });

  it('signs links and upload forms', async () => {
    const key = await make({ bucket: Bucket, prefix: 'app/', actions: ['read', 'write'] });
    const link = (path: string) =>
      signLink({
        url: server.url,
        credentials: key,
        method: 'GET',
        path,
        query: { 'X-Amz-Security-Token': key.sessionToken },
      });
    expect((await sendRaw(server.url, 'GET', link('/builds/app/1'))).body.toString()).toBe('app/1');
    expect((await sendRaw(server.url, 'GET', link('/builds/apple'))).status).toBe(403);
  });

  it('starts no job, which could outlive it', async () => {
    const key = await make();
    const jobs = createJobClient(server, key);
    const refused = await jobs.call('POST', '', { kind: 'count', bucket: Bucket });
    expect([refused.status, refused.body.code]).toEqual([403, 'temporary_key']);
  });
});

describe('the end of a temporary key', () => {
  it('comes with one call for all that were made before, while the access key and later ones work', async () => {
    const before = clientOf(await make());
    expect(await get(before, 'app/1')).toBe('ok');
    expect((await server.call('DELETE', pathOf(owner.accessKeyId))).status).toBe(204);
    expect([await get(before, 'app/1'), await put(before, 'app/1')]).toEqual(['InvalidToken', 'InvalidToken']);
    expect([await get(s3, 'app/1'), await get(clientOf(await make()), 'app/1')]).toEqual(['ok', 'ok']);
    expect((await server.call('DELETE', pathOf('TESSUNKNOWN'))).status).toBe(404);
  });

  it('comes with the end of the access key, and with the suspension of the user', async () => {
    const user = await server.createAccessKey('brief');
    const client = clientOf(await make({}, user.accessKeyId));
    expect(await list(client)).toBe('AccessDenied');
    const suspended = await server.call('PUT', `/v1/accounts/${user.userId}/suspension`, { reason: 'test' });
    expect(suspended.status).toBe(200);
    expect(await list(client)).toBe('InvalidToken');
    const second = await server.createAccessKey('second');
    const other = clientOf(await make({}, second.accessKeyId));
    expect((await server.call('DELETE', `/v1/iam/access-keys/${second.accessKeyId}`)).status).toBe(204);
    expect(await list(other)).toBe('InvalidToken');
  });

  it('comes with a new password, though the access key was made by the same session', async () => {
    const password = 'correct horse battery';
    const user = await registerUser(server, 'holder');
    await confirmSession(server, user.token);
    const key = await server.call('POST', '/v1/me/access-keys', {}, user.token);
    const path = `/v1/me/access-keys/${key.body.access_key_id}/temporary-keys`;
    const made = await server.call('POST', path, { minutes: 720 }, user.token);
    expect(made.status).toBe(201);
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken } = made.body;
    const client = clientOf({ accessKeyId, secretAccessKey, sessionToken });
    expect(await list(client)).toBe('AccessDenied');
    const body = { password, new_password: 'staple of the horse' };
    expect((await server.call('POST', '/v1/me/password', body, user.token)).status).toBe(204);
    expect(await list(client)).toBe('InvalidToken');
    const foreign = `/v1/me/access-keys/${owner.accessKeyId}/temporary-keys`;
    await confirmSession(server, user.token, 'staple of the horse');
    expect((await server.call('POST', foreign, {}, user.token)).status).toBe(404);
    expect((await server.call('DELETE', foreign, undefined, user.token)).status).toBe(404);
  });
});

it.each([
  [{ minutes: 0 }, 'minutes'],
  [{ minutes: 721 }, 'minutes'],
  [{ prefix: 'x' }, 'prefix'],
  [{ actions: ['read'] }, 'actions'],
  [{ bucket: 'builds', actions: ['erase'] }, 'actions.0'],
  [{ policy: { Statement: [{ Effect: 'Allow' }] } }, 'policy'],
  [{ policy: { Version: 'x'.repeat(2_048) } }, 'policy'],
  [{ bucket: 'builds', policy: {} }, 'policy'],
])('names what is wrong in %j', async (wish, path) => {
  const { status, body } = await server.call('POST', pathOf(owner.accessKeyId), wish);
  expect([status, body.errors?.[0]?.path]).toEqual([400, path]);
});

describe('the Security Token Service', () => {
  const roleOf = (userId: string) => `arn:aws:iam::${userId}:role/deploy`;
  const policyOn = (resource: string) =>
    JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 's3:GetObject', Resource: resource }],
    });

  it.skipIf(!hasClient('/usr/bin/aws'))('tells the CLI who it is, and gives it keys within a policy', async () => {
    const cli = createClients(server.url, owner);
    expect(JSON.parse(await cli.aws('sts', 'get-caller-identity', '--output', 'json'))).toMatchObject({
      Account: owner.userId,
    });
    const assumed = await cli.aws(
      ...['sts', 'assume-role', '--output', 'json', '--role-arn', roleOf(owner.userId)],
      ...['--role-session-name', 'build-1', '--policy', policyOn('arn:aws:s3:::builds/app/*')],
    );
    const { AccessKeyId, SecretAccessKey, SessionToken } = JSON.parse(assumed).Credentials;
    const client = clientOf({
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      sessionToken: SessionToken,
    });
    expect([await get(client, 'app/1'), await get(client, 'apple'), await list(client)]).toEqual([
      'ok',
      'AccessDenied',
      'AccessDenied',
    ]);
    const foreign = await cli.tryAws(
      ...['sts', 'assume-role', '--role-arn', roleOf('someone'), '--role-session-name', 'build-1'],
    );
    expect(foreign.stderr).toContain('(AccessDenied)');
    const short = await cli.tryAws('sts', 'get-session-token', '--duration-seconds', '43201');
    expect(short.stderr).toContain('(ValidationError)');
    const unknown = await cli.tryAws('sts', 'get-access-key-info', '--access-key-id', owner.accessKeyId);
    expect(unknown.stderr).toContain('(InvalidAction)');
  });

  it.skipIf(!hasClient('/usr/bin/python3'))('gives boto3 keys that sign requests, links and forms', async () => {
    const script = `
import boto3, botocore.config, os, urllib.request
url = os.environ['S3_URL']
keys = boto3.client('sts', endpoint_url=url).get_session_token(DurationSeconds=900)['Credentials']
session = boto3.Session(keys['AccessKeyId'], keys['SecretAccessKey'], keys['SessionToken'])
s3 = session.client('s3', endpoint_url=url)
s3.put_object(Bucket='builds', Key='boto', Body=b'boto')
for version in ['s3', 's3v4']:
  signer = session.client('s3', endpoint_url=url, config=botocore.config.Config(signature_version=version))
  link = signer.generate_presigned_url('get_object', Params={'Bucket': 'builds', 'Key': 'boto'})
  print(version, urllib.request.urlopen(link).read().decode())
form = signer.generate_presigned_post('builds', 'by-form', Conditions=[['content-length-range', 1, 99]])
boundary = 'x-boundary'
parts = ''.join('--%s\\r\\nContent-Disposition: form-data; name="%s"\\r\\n\\r\\n%s\\r\\n' % (boundary, n, v) for n, v in form['fields'].items())
body = parts + '--%s\\r\\nContent-Disposition: form-data; name="file"; filename="f"\\r\\n\\r\\nform\\r\\n--%s--\\r\\n' % (boundary, boundary)
asked = urllib.request.Request(form['url'], body.encode(), {'Content-Type': 'multipart/form-data; boundary=' + boundary})
print(urllib.request.urlopen(asked).status)
print(s3.get_object(Bucket='builds', Key='by-form')['Body'].read().decode())
try:
  session.client('sts', endpoint_url=url).get_session_token(DurationSeconds=900)
except Exception as error:
  print(error.response['Error']['Code'])
`;
    const printed = await createClients(server.url, owner).python(script);
    expect(printed.trim().split('\n')).toEqual(['s3 boto', 's3v4 boto', '204', 'form', 'AccessDenied']);
  });

  it('is the provider of a profile with a role, in the SDK for JavaScript', async () => {
    const home = createClients(server.url, owner).home;
    const config = [
      '[default]',
      `aws_access_key_id = ${owner.accessKeyId}`,
      `aws_secret_access_key = ${owner.secretAccessKey}`,
      'region = us-east-1',
      '[profile deploy]',
      `role_arn = ${roleOf(owner.userId)}`,
      'source_profile = default',
      'region = us-east-1',
    ];
    writeFileSync(join(home, 'config'), `${config.join('\n')}\n`);
    const script = `
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
const s3 = new S3Client({ endpoint: process.env.S3_URL, forcePathStyle: true });
const { Body } = await s3.send(new GetObjectCommand({ Bucket: 'builds', Key: 'app/1' }));
console.log(await Body.transformToString(), (await s3.config.credentials()).accessKeyId.slice(0, 4));
`;
    const environment = {
      HOME: home,
      AWS_CONFIG_FILE: join(home, 'config'),
      AWS_PROFILE: 'deploy',
      AWS_ENDPOINT_URL_STS: server.url,
      AWS_EC2_METADATA_DISABLED: 'true',
      S3_URL: server.url,
    };
    const printed = await mustRun(process.execPath, ['--input-type=module', '-e', script], environment);
    expect(printed.trim()).toBe('app/1 TEMP');
  });

  it('refuses an unsigned request, a request with another body, and one for object storage', async () => {
    const ask = (headers: Record<string, string>) =>
      fetch(server.url, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: 'Action=GetCallerIdentity&Version=2011-06-15',
      });
    const unsigned = await ask({});
    expect([unsigned.status, await unsigned.text()]).toEqual([400, expect.stringContaining('<ErrorResponse')]);
    const credential = `${owner.accessKeyId}/20260101/us-east-1`;
    const forStorage = await ask({
      authorization: `AWS4-HMAC-SHA256 Credential=${credential}/s3/aws4_request, SignedHeaders=host, Signature=0`,
    });
    expect(await forStorage.text()).toContain('AuthorizationHeaderMalformed');
  });
});
