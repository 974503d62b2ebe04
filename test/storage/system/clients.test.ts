/** Tests object storage with common S3 clients. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createClients, mustRun } from '../../support/storage/s3-client.ts';

let server: TestServer;
let key: Awaited<ReturnType<TestServer['createAccessKey']>>;
let clients: ReturnType<typeof createClients>;
let directory: string;
const file = (name: string) => join(directory, name);

beforeAll(async () => {
  server = await startServer();
  key = await server.createAccessKey('clients');
  clients = createClients(server.url, key);
  directory = clients.home;
});
afterAll(() => server[Symbol.asyncDispose]());

describe.skipIf(!hasClient('/usr/bin/aws'))('aws', () => {
  it('creates a bucket, copies small and large files both ways without changing a byte, lists and removes', async () => {
    writeFileSync(file('small'), randomBytes(1024));
    writeFileSync(file('large'), randomBytes(20 * 1024 ** 2));
    await clients.aws('s3', 'mb', 's3://by-aws');
    for (const name of ['small', 'large']) {
      await clients.aws('s3', 'cp', '--no-progress', file(name), `s3://by-aws/folder/${name}`);
      await clients.aws('s3', 'cp', '--no-progress', `s3://by-aws/folder/${name}`, file(`${name}.back`));
      expect(readFileSync(file(`${name}.back`)).equals(readFileSync(file(name)))).toBe(true);
    }
    const listed = await clients.aws('s3', 'ls', '--recursive', 's3://by-aws');
    expect(listed).toMatch(/20971520 folder\/large\n.* 1024 folder\/small/);
    expect(await clients.aws('s3', 'ls', 's3://by-aws')).toContain('PRE folder/');
    await clients.aws('s3', 'rm', '--recursive', 's3://by-aws');
    await clients.aws('s3', 'rb', 's3://by-aws');
    expect(await clients.aws('s3', 'ls')).not.toContain('by-aws');
  });

  it('is rejected with a wrong secret', async () => {
    const wrong = createClients(server.url, { ...key, secretAccessKey: 'wrong' });
    expect((await wrong.tryAws('s3', 'ls')).stderr).toContain('(SignatureDoesNotMatch)');
  });
});

describe.skipIf(!hasClient('rclone'))('rclone', () => {
  it('copies a folder both ways without differences, and lists old versions', async () => {
    mkdirSync(file('tree/deep/er'), { recursive: true });
    for (const name of ['a.txt', 'deep/b c.bin', 'deep/er/ünï+cödé %41.bin']) {
      writeFileSync(file(`tree/${name}`), randomBytes(5000));
    }
    await clients.rclone('mkdir', 't:by-rclone');
    await clients.rclone('copy', file('tree'), 't:by-rclone/tree');
    await clients.rclone('check', '--download', file('tree'), 't:by-rclone/tree');
    await clients.rclone('copy', 't:by-rclone/tree', file('tree-back'));
    await clients.rclone('check', file('tree'), file('tree-back'));
    await clients.rclone('backend', 'versioning', 't:by-rclone', 'Enabled');
    writeFileSync(file('tree/a.txt'), 'newer');
    await clients.rclone('sync', file('tree'), 't:by-rclone/tree');
    expect((await clients.rclone('lsf', '--s3-versions', 't:by-rclone/tree')).match(/^a(-v\S+)?\.txt$/gm)).toHaveLength(
      2,
    );
  });
});

it.skipIf(!hasClient('rclone'))('rclone copies the stored Cache-Control, and adds nothing to it', async () => {
  await clients.rclone('mkdir', 't:headers');
  writeFileSync(file('page.txt'), 'text');
  const cacheOf = async (key: string) =>
    (await clients.aws('s3api', 'head-object', '--bucket', 'headers', '--key', key, '--query', 'CacheControl')).trim();
  for (const [name, options, stored] of [
    ['plain', [], 'null'],
    ['cached', ['--cache-control', 'max-age=60'], '"max-age=60"'],
  ] as const) {
    await clients.aws('s3', 'cp', '--no-progress', ...options, file('page.txt'), `s3://headers/${name}`);
    await clients.rclone('copyto', '-M', '--disable', 'copy', `t:headers/${name}`, `t:headers/${name}-copy`);
    expect([await cacheOf(name), await cacheOf(`${name}-copy`)]).toEqual([stored, stored]);
  }
});

describe.skipIf(!hasClient('restic'))('restic', () => {
  it('creates a repository, backs up, verifies all data and restores', async () => {
    mkdirSync(file('kept/deep'), { recursive: true });
    for (const name of ['a', 'deep/b c+ü%']) writeFileSync(file(`kept/${name}`), randomBytes(300_000));
    const environment = {
      HOME: clients.home,
      AWS_ACCESS_KEY_ID: key.accessKeyId,
      AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
      RESTIC_PASSWORD: 'test',
    };
    const repository = ['--quiet', '--no-cache', '--repo', `s3:${server.url}/by-restic/repository`];
    const restic = (...args: string[]) => mustRun('restic', [...repository, ...args], environment);
    await restic('init');
    await restic('backup', file('kept'));
    await restic('check', '--read-data');
    await restic('restore', 'latest', '--target', file('restored'));
    for (const name of ['a', 'deep/b c+ü%']) {
      expect(readFileSync(join(file('restored'), file('kept'), name)).equals(readFileSync(file(`kept/${name}`)))).toBe(
        true,
      );
    }
    await restic('forget', 'latest', '--prune');
    expect(await restic('snapshots')).not.toContain('kept');
  });
});

describe.skipIf(!hasClient('s3cmd'))('s3cmd', () => {
  it('uploads in parts, downloads, lists, copies, shows details and deletes', async () => {
    writeFileSync(file('seventeen'), randomBytes(17 * 1024 ** 2));
    await clients.s3cmd('mb', 's3://by-s3cmd');
    await clients.s3cmd('put', '--no-progress', file('seventeen'), 's3://by-s3cmd/a b/seventeen+x');
    await clients.s3cmd('cp', 's3://by-s3cmd/a b/seventeen+x', 's3://by-s3cmd/copy');
    await clients.s3cmd('get', '--no-progress', 's3://by-s3cmd/copy', file('seventeen.back'));
    expect(readFileSync(file('seventeen.back')).equals(readFileSync(file('seventeen')))).toBe(true);
    expect(await clients.s3cmd('ls', '--recursive', 's3://by-s3cmd')).toContain('s3://by-s3cmd/a b/seventeen+x');
    expect(await clients.s3cmd('info', 's3://by-s3cmd/copy')).toContain('File size: 17825792');
    await clients.s3cmd('del', '--recursive', '--force', 's3://by-s3cmd');
    await clients.s3cmd('rb', 's3://by-s3cmd');
  });
});

const BOTO3 = `
import boto3, os, sys
from botocore.client import Config
s3 = boto3.client('s3', endpoint_url=os.environ['S3_URL'], config=Config(signature_version='s3v4'))
s3.create_bucket(Bucket='by-boto3')
s3.upload_file(sys.argv[1], 'by-boto3', 'file')
s3.put_object(Bucket='by-boto3', Key='a b/ü', Body=b'text', Metadata={'colour': 'blue'})
head = s3.head_object(Bucket='by-boto3', Key='a b/ü')
assert head['Metadata'] == {'colour': 'blue'}, head
assert [c['Key'] for p in s3.get_paginator('list_objects_v2').paginate(Bucket='by-boto3', PaginationConfig={'PageSize': 1}) for c in p['Contents']] == ['a b/ü', 'file']
post = s3.generate_presigned_post('by-boto3', 'form/\${filename}', Conditions=[['content-length-range', 0, 100]])
print(s3.generate_presigned_url('get_object', {'Bucket': 'by-boto3', 'Key': 'a b/ü', 'ResponseContentType': 'text/x'}))
print(s3.generate_presigned_url('put_object', {'Bucket': 'by-boto3', 'Key': 'by-link'}))
print(post['url'])
for name, value in post['fields'].items(): print(name + '=' + value)
`;

describe.skipIf(!hasClient('/usr/bin/python3', 'curl'))('boto3, and curl with links presigned by boto3', () => {
  it('uploads, pages, and creates links and a form that work and cannot be altered', async () => {
    writeFileSync(file('nine'), randomBytes(9 * 1024 ** 2));
    const [get = '', put = '', url = '', ...fields] = (await clients.python(BOTO3, file('nine'))).trim().split('\n');
    const curl = (...args: string[]) =>
      mustRun('curl', ['-sS', '-o', '-', '-w', '|%{http_code}|%{content_type}', ...args]);
    expect(await curl(get)).toBe('text|200|text/x');
    expect(await curl(get.replace('text%2Fx', 'text%2Fy'))).toContain('SignatureDoesNotMatch');
    expect(await curl('-X', 'PUT', '--data-binary', 'linked', put)).toContain('|200|');
    expect(await curl('-X', 'PUT', '-H', 'x-amz-acl: public-read', '--data-binary', 'x', put)).toContain(
      'AccessDenied',
    );
    writeFileSync(file('note.txt'), 'from a form');
    const form = fields.flatMap((field) => ['-F', field]);
    expect(await curl(...form, '-F', `file=@${file('note.txt')}`, url)).toContain('|204|');
    expect(await curl(...form, '-F', `file=@${file('nine')}`, url)).toContain('EntityTooLarge');
    expect(
      await clients.aws(
        's3api',
        'list-objects-v2',
        '--bucket',
        'by-boto3',
        '--query',
        'Contents[].[Key,Size]',
        '--output',
        'text',
      ),
    ).toBe('a b/ü\t4\nby-link\t6\nfile\t9437184\nform/note.txt\t11\n');
  });
});

describe('curl with a token', () => {
  it('uploads user metadata with an objects:write token, and gets it back under both names', async () => {
    const { body: token } = await server.call('POST', '/v1/iam/tokens', {
      name: 'uploader',
      user_id: key.userId,
      scopes: ['objects:read', 'objects:write'],
    });
    const authorization = `Bearer ${token.token}`;
    const put = (path: string, headers: Record<string, string> = {}, body: string | null = null) =>
      fetch(server.url + path, { method: 'PUT', headers: { authorization, ...headers }, body });
    expect((await put('/by-token')).status).toBe(200);
    const stored = await put('/by-token/note', { 'x-meta-colour': 'blue', 'content-type': 'text/x-note' }, 'hello');
    expect([stored.status, stored.headers.get('x-object-version')]).toEqual([
      200,
      expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-1/),
    ]);
    const got = await fetch(`${server.url}/by-token/note`, { headers: { authorization } });
    expect(await got.text()).toBe('hello');
    expect(Object.fromEntries(got.headers)).toMatchObject({
      'x-meta-colour': 'blue',
      'x-amz-meta-colour': 'blue',
      'content-type': 'text/x-note',
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
      etag: '"5d41402abc4b2a76b9719d911017c592"',
    });
  });

  it('is limited to the scope of its token, and is rejected with a wrong token', async () => {
    const { body: reader } = await server.call('POST', '/v1/iam/tokens', {
      name: 'reader',
      user_id: key.userId,
      scopes: ['objects:read'],
    });
    const ask = (method: string, path: string, token: string) =>
      fetch(server.url + path, { method, headers: { authorization: `Bearer ${token}` } });
    expect((await ask('GET', '/', reader.token)).status).toBe(200);
    expect((await ask('PUT', '/not-by-reader', reader.token)).status).toBe(403);
    expect((await ask('GET', '/', 'tok_nonsense')).status).toBe(401);
    expect((await ask('GET', '/', server.rootToken)).status).toBe(401);
    expect((await fetch(`${server.url}/`)).status).toBe(403);
  });
});
