/**
 * Pulls many versions from another server that keeps them, while either server is killed again and again, and compares all of them.
 *
 * `PULL_VERSIONS` is the number of versions. Other servers are tried if they are installed: `moto_server`, `rclone serve s3`, and s3rver
 * (`S3RVER`, the path of its program).
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateBucketCommand,
  GetObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createJobClient, type JobClient } from '../../support/storage/jobs.ts';
import { comparable, listSeen } from '../../support/storage/pull.ts';
import { type Credentials, createSdkClient } from '../../support/storage/s3-client.ts';

const VERSIONS = Number(process.env.PULL_VERSIONS ?? 2_000);
const VERSIONS_PER_NAME = 10;
const CUTS = 10;
const SIZES = [0, 10, 4_000, 16_384, 17_000, 300_000];
const CLIENTS = 16;

let target: TestServer;
let key: Credentials;
let here: S3Client;
let jobs: JobClient;

beforeAll(async () => {
  target = await startServer({ vars: { PRODUCTS: 'storage', LIFECYCLE_DAY_SECONDS: '10' } });
  key = await target.createAccessKey('target');
  here = createSdkClient(target.url, key);
  jobs = createJobClient(target, key);
});
afterAll(() => target?.[Symbol.asyncDispose]());

const VersioningConfiguration = { Status: 'Enabled' } as const;
async function makeBucket(s3: S3Client, Bucket: string, isVersioned = true): Promise<void> {
  await s3.send(new CreateBucketCommand({ Bucket }));
  if (isVersioned) await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
}
const requestOf = (bucket: string, endpoint: string, credentials: Credentials) => ({
  kind: 'pull',
  bucket,
  source: {
    endpoint,
    bucket,
    access_key_id: credentials.accessKeyId,
    secret_access_key: credentials.secretAccessKey,
  },
});

/** Writes the versions of all names, a tenth of them delete markers. */
async function fill(url: string, bucket: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  let next = 0;
  const client = async () => {
    for (let n = next++; n < VERSIONS / VERSIONS_PER_NAME; n = next++) {
      for (let v = 0; v < VERSIONS_PER_NAME; v++) {
        const isMarker = (n + v) % VERSIONS_PER_NAME === 0;
        // Large bodies are rare, so that the number of versions decides about the time.
        const size = SIZES[n % 100 === 0 ? 5 : (n + v) % 4] ?? 0;
        const address = `${url}/${bucket}/${n % 7}/${n}`;
        const answer = isMarker
          ? await fetch(address, { method: 'DELETE', headers })
          : await fetch(address, { method: 'PUT', headers, body: new Uint8Array(randomBytes(size)) });
        expect(answer.status).toBe(isMarker ? 204 : 200);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

it(`pulls ${VERSIONS} versions through ${CUTS} cuts, and all are equal`, async () => {
  await using source = await startServer({ vars: { PRODUCTS: 'storage' } });
  const owner = await source.createAccessKey('source');
  const there = createSdkClient(source.url, owner);
  const scopes = ['objects:read', 'objects:write'];
  const { body } = await source.call('POST', '/v1/iam/tokens', { name: 'fill', user_id: owner.userId, scopes });
  await makeBucket(there, 'many');
  await makeBucket(here, 'many');
  const begun = Date.now();
  await fill(source.url, 'many', body.token);
  console.log(`filled ${VERSIONS} versions in ${Math.round((Date.now() - begun) / 1_000)} s`);
  const started = await jobs.call('POST', '', requestOf('many', source.url, owner));
  expect(started.status).toBe(202);
  const jobId = started.body.job_id;
  const read = async () => (await jobs.call('GET', `/${jobId}`)).body;
  const pulledAt = Date.now();
  for (let cut = 1; cut <= CUTS; cut++) {
    const enough = ((cut - 1) * VERSIONS) / (CUTS + 2);
    await until('progress', async () => ((await read()).counts.examined >= enough ? true : undefined), 1_200_000);
    await sleep(Math.random() * 3_000);
    const isSource = cut % 3 === 0;
    const server = isSource ? source : target;
    await server.kill9();
    if (isSource) await sleep(2_000);
    await server.start();
  }
  const ended = await until('the end', async () => ((await read()).ended_at ? await read() : undefined), 1_800_000);
  console.log(`pulled in ${Math.round((Date.now() - pulledAt) / 1_000)} s: ${JSON.stringify(ended.counts)}`);
  expect([ended.state, ended.error, ended.obstacles]).toEqual(['done', null, []]);
  const again = await jobs.run(requestOf('many', source.url, owner));
  expect(again.counts).toMatchObject({ versions_pulled: 0, markers_pulled: 0, unchanged: VERSIONS, skipped: 0 });
  const [from, to] = [await listSeen(there, 'many'), await listSeen(here, 'many')];
  expect(from).toHaveLength(VERSIONS);
  expect(comparable(to)).toEqual(comparable(from));
  // ETags are MD5s that were compared with the bytes; a sample is read again.
  for (const version of to.filter(({ isMarker }, index) => !isMarker && index % Math.ceil(VERSIONS / 200) === 0)) {
    const { Body } = await here.send(new GetObjectCommand({ Bucket: 'many', Key: version.key, VersionId: version.id }));
    const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
    expect(`"${createHash('md5').update(bytes).digest('hex')}"`).toBe(version.etag);
  }
}, 7_200_000);

const freePort = () =>
  new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });

interface Peer {
  readonly command: string;
  readonly credentials: Credentials;
  args(port: number, directory: string): readonly string[];
  readonly keepsVersions: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const KEY = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const PEERS: Readonly<Record<string, Peer>> = {
  moto: {
    command: 'moto_server',
    credentials: KEY,
    args: (port) => ['-H', '127.0.0.1', '-p', String(port)],
    keepsVersions: true,
  },
  s3rver: {
    command: process.env.S3RVER ?? 's3rver',
    credentials: KEY,
    args: (port, directory) => ['-d', directory, '-a', '127.0.0.1', '-p', String(port), '--no-vhost-buckets'],
    keepsVersions: false,
    // It encrypts its page tokens with DES.
    env: { NODE_OPTIONS: '--openssl-legacy-provider' },
  },
  rclone: {
    command: 'rclone',
    credentials: KEY,
    args: (port, directory) => [
      ...['serve', 's3', directory, '--addr', `127.0.0.1:${port}`],
      ...['--auth-key', `${KEY.accessKeyId},${KEY.secretAccessKey}`],
    ],
    keepsVersions: false,
  },
};

const isInstalled = ({ command, args }: Peer): boolean => {
  const [first = '', second = ''] = args(0, '');
  const tried = spawnSync(command, first === 'serve' ? [first, second, '--help'] : ['--help'], { encoding: 'utf8' });
  return tried.status === 0 && (first !== 'serve' || tried.stdout.includes('--auth-key'));
};

describe('a pull from', () => {
  it.for(Object.entries(PEERS))('%s brings over all that it has', async ([name, peer], { skip }) => {
    if (!isInstalled(peer)) skip(`${peer.command} is not installed`);
    const directory = mkdtempSync(join(tmpdir(), 'tessera-peer-'));
    const port = await freePort();
    const child: ChildProcess = spawn(peer.command, [...peer.args(port, directory)], {
      stdio: 'ignore',
      env: { ...process.env, ...peer.env },
    });
    try {
      const url = `http://127.0.0.1:${port}`;
      await until(
        'the peer',
        async () =>
          await fetch(url).then(
            () => true,
            () => undefined,
          ),
        60_000,
      );
      const there = createSdkClient(url, peer.credentials);
      const bucket = `of-${name}`;
      await makeBucket(there, bucket, peer.keepsVersions);
      await makeBucket(here, bucket);
      const put = (Key: string, Body: string | Uint8Array, Metadata = {}) =>
        there.send(new PutObjectCommand({ Bucket: bucket, Key, Body, Metadata }));
      for (let i = 0; i < 250; i++) await put(`n/${i}`, `content ${i}`, { mtime: String(i) });
      await put('large', randomBytes(5_000_000));
      await put('n/1', 'newer');
      const first = await jobs.run(requestOf(bucket, url, peer.credentials));
      expect([first.state, first.error]).toEqual(['done', null]);
      expect(first.counts.versions_pulled).toBe(peer.keepsVersions ? 252 : 251);
      console.log(`${name}: ${JSON.stringify(first.counts)} ${JSON.stringify(first.obstacles.slice(0, 3))}`);
      const { Body, Metadata } = await here.send(new GetObjectCommand({ Bucket: bucket, Key: 'n/7' }));
      expect([await Body?.transformToString(), Metadata]).toEqual(['content 7', { mtime: '7' }]);
      await put('n/2', 'changed');
      expect((await jobs.run(requestOf(bucket, url, peer.credentials))).counts.versions_pulled).toBe(1);
      expect((await jobs.run(requestOf(bucket, url, peer.credentials))).counts.versions_pulled).toBe(0);
    } finally {
      child.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
