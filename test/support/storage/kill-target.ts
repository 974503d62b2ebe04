/** The server of the kill tests, which compare its acknowledged uploads with its state after each kill. */
import { createHash, hash, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { TestServer } from '../server.ts';
import { expectOrdered, recordsOf, type WebhookReceiver } from '../webhook-receiver.ts';
import { CLEAN_FSCK } from './clean-fsck.ts';

/** Period of cron in milliseconds if days are not shortened. */
export const CRON_EVERY_MS = 60_000;
const WRITERS = 6;
const READERS = 8;

const LOCK = {
  'x-amz-object-lock-mode': 'COMPLIANCE',
  'x-amz-object-lock-retain-until-date': '2099-01-01T00:00:00Z',
};
/** Prefix of the names that the bucket's lifecycle rule expires. Their versions are locked. */
const EXPIRING = '/kept/old/';
const LIFECYCLE = `<LifecycleConfiguration><Rule><ID>old</ID><Filter><Prefix>old/</Prefix></Filter><Status>Enabled</Status>
  <Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`;
const toNotification = (url: string): string =>
  `<NotificationConfiguration><TopicConfiguration><Id>all</Id><Topic>arn:aws:sns:::${url}</Topic>
  <Event>s3:ObjectCreated:*</Event></TopicConfiguration></NotificationConfiguration>`;

interface Acknowledged {
  readonly path: string;
  readonly versionId: string;
  readonly sha256: string;
}

export interface KillOutcome {
  readonly kills: number;
  readonly acknowledged: number;
  readonly lost: number;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A server with two shards and one bucket, and the list of its acknowledged uploads. */
export class Target {
  readonly server: TestServer;
  readonly acknowledged: Acknowledged[] = [];
  /** Offset of the server's clock in seconds. It grows at each kill, so that leases of killed work expire. */
  clockOffsetSeconds = 0;
  /** Start time of the server. Cron runs each minute after it. */
  #startedAt = Date.now();
  #authorization = '';
  #serial = 0;
  #receiver: WebhookReceiver | null = null;

  constructor(server: TestServer) {
    this.server = server;
  }

  async open(): Promise<void> {
    const { userId } = await this.server.createAccessKey('writer');
    const scopes = ['objects:read', 'objects:write'];
    const { body } = await this.server.call('POST', '/v1/iam/tokens', { name: 'kill', user_id: userId, scopes });
    this.#authorization = `Bearer ${body.token}`;
    const lock = { 'x-amz-bucket-object-lock-enabled': 'true' };
    expect((await this.#send('PUT', '/kept', undefined, lock)).status).toBe(200);
    const quota = await this.server.call('PUT', '/v1/storage/quotas/buckets/kept', { bytes: 1e12, objects: 1e6 });
    expect(quota.status).toBe(200);
  }

  /** Sets lifecycle rules that expire names, and a destination of events. Some of the later uploads are under these rules. */
  async addRules(receiver: WebhookReceiver): Promise<void> {
    for (const [kind, text] of [
      ['lifecycle', LIFECYCLE],
      ['notification', toNotification(receiver.url)],
    ] as const) {
      const content = Buffer.from(text);
      const md5 = { 'content-md5': hash('md5', content, 'base64') };
      expect((await this.#send('PUT', `/kept?${kind}`, content, md5)).status, kind).toBe(200);
    }
    this.#receiver = receiver;
  }

  #send(method: string, path: string, content?: Uint8Array, more: Record<string, string> = {}): Promise<Response> {
    const headers = { authorization: this.#authorization, ...more };
    return fetch(this.server.url + path, { method, headers, ...(content ? { body: content as BodyInit } : {}) });
  }

  /**
   * Uploads with several writers while `mayContinue` returns true. A writer stops when the server dies; its last upload is then not
   * acknowledged.
   */
  async write(sizes: readonly number[], mayContinue: () => boolean): Promise<void> {
    const writer = async () => {
      while (mayContinue()) {
        const { path, headers } = this.#next();
        const content = randomBytes(sizes[Math.floor(Math.random() * sizes.length)] ?? 0);
        const response = await this.#send('PUT', path, content, headers).catch(() => null);
        if (response === null) return;
        const isWhole = await response.arrayBuffer().catch(() => null);
        if (!isWhole || response.status !== 200) continue;
        const versionId = response.headers.get('x-amz-version-id') ?? '';
        this.acknowledged.push({ path, versionId, sha256: sha256(content) });
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  }

  /** Makes the next upload. With rules, some uploads are locked and expire, and some reuse a name. */
  #next(): { readonly path: string; readonly headers: Record<string, string> } {
    const n = this.#serial++;
    if (this.#receiver && n % 4 === 1) return { path: `${EXPIRING}${n}`, headers: LOCK };
    if (this.#receiver && n % 4 === 3) return { path: `/kept/same/${n % 3}`, headers: {} };
    return { path: `/kept/${n}`, headers: {} };
  }

  async killAndRestart(): Promise<void> {
    await this.server.kill9();
    this.clockOffsetSeconds += 700;
    await this.restart();
  }

  async restart(vars: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.server.start({ ...vars, CLOCK_OFFSET_SECONDS: String(this.clockOffsetSeconds) });
    this.#startedAt = Date.now();
  }

  msUntilCron(): number {
    return CRON_EVERY_MS - ((Date.now() - this.#startedAt) % CRON_EVERY_MS);
  }

  async operate(path: string, body: object = {}): Promise<Record<string, unknown>> {
    const answer = await this.server.call('POST', `/v1/storage/${path}`, body);
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(200);
    return answer.body;
  }

  async verify(some = this.acknowledged): Promise<void> {
    const left = some.values();
    const reader = async () => {
      for (const { path, versionId, sha256: expected } of left) {
        const response = await this.#send('GET', `${path}?versionId=${versionId}`);
        expect(response.status, path).toBe(200);
        expect(sha256(new Uint8Array(await response.arrayBuffer())), path).toBe(expected);
      }
    };
    await Promise.all(Array.from({ length: READERS }, reader));
  }

  /** Checks that every acknowledged name is listed. */
  async verifyListing(): Promise<void> {
    const names = new Set<string>();
    for (let after = ''; ; ) {
      const response = await this.#send('GET', `/kept?list-type=2&start-after=${after}`);
      expect(response.status).toBe(200);
      const page = Array.from((await response.text()).matchAll(/<Key>([^<]*)<\/Key>/g), ([, name]) => name ?? '');
      for (const name of page) names.add(name);
      if (page.length < 1000) break;
      after = page.at(-1) ?? '';
    }
    expect(this.acknowledged.filter(({ path }) => !names.has(path.slice('/kept/'.length)))).toEqual([]);
  }

  /** Checks that the quota counts the bytes of all versions. */
  async verifyCounts(): Promise<void> {
    let bytes = 0;
    for (let after = ''; ; ) {
      const text = await (await this.#send('GET', `/kept?versions${after}`)).text();
      for (const [, size] of text.matchAll(/<Size>(\d+)<\/Size>/g)) bytes += Number(size);
      const [, key] = text.match(/<NextKeyMarker>([^<]*)</) ?? [];
      const [, version] = text.match(/<NextVersionIdMarker>([^<]*)</) ?? [];
      if (key === undefined) break;
      after = `&key-marker=${encodeURIComponent(key)}&version-id-marker=${version}`;
    }
    const { body } = await this.server.call('GET', '/v1/storage/quotas/buckets/kept');
    expect(body.used.bytes).toBe(bytes);
  }

  /** Waits until each acknowledged upload has sent its event and each name under the rule is hidden. Locked versions remain. */
  async verifyRules(receiver: WebhookReceiver): Promise<void> {
    const arrived = () => {
      const ids = recordsOf(receiver).map(({ s3: { object } }) => `/kept/${object.key} ${object.versionId}`);
      return new Set(ids);
    };
    const silent = () => {
      const ids = arrived();
      return this.acknowledged.filter(({ path, versionId }) => !ids.has(`${path} ${versionId}`));
    };
    await expect.poll(silent, { timeout: 120_000 }).toEqual([]);
    expectOrdered(recordsOf(receiver));
    for (const { path, versionId } of this.acknowledged.filter((one) => one.path.startsWith(EXPIRING))) {
      await expect.poll(async () => (await this.#send('GET', path)).status, { timeout: 120_000 }).toBe(404);
      expect((await this.#send('DELETE', `${path}?versionId=${versionId}`)).status).toBe(403);
    }
  }

  /** Returns the time since the last write to the journal of the bucket's shard. */
  journalAgeMs(): number {
    const [file = ''] = listShards(this.server.directory);
    const database = new DatabaseSync(file);
    const row = database.prepare("SELECT updated_at FROM task WHERE name = 'journal flushed'").get();
    database.close();
    return Date.now() + this.clockOffsetSeconds * 1000 - Number(row?.updated_at ?? 0);
  }

  /**
   * Checks that collection removes all leftovers of the kills and nothing else. An orphan is removed from the first location a day
   * after it was found, and from the others a day later.
   */
  async verifyNothingMissing(): Promise<void> {
    for (const hours of [2, 26, 26]) {
      await this.server.stop();
      this.clockOffsetSeconds += hours * 3_600;
      await this.restart({ LIFECYCLE_DAY_SECONDS: '86400' });
      const collected = await this.operate('gc', { max_seconds: 300 });
      expect(collected).toMatchObject({ finished: true });
      const { body } = await this.server.call('GET', '/v1/collectors');
      expect(body.data.map(({ alarm }: { alarm: object | null }) => alarm)).toEqual(body.data.map(() => null));
    }
    const report = await this.operate('fsck');
    expect(report, JSON.stringify(report)).toMatchObject({ dry_run: true, ...CLEAN_FSCK });
  }

  outcome(kills: number): KillOutcome {
    return { kills, acknowledged: this.acknowledged.length, lost: 0 };
  }
}

/** Lists the database files that contain versions of objects. */
export function listShards(directory: string): string[] {
  const databases = join(directory, 'd1/miniflare-D1DatabaseObject');
  const files = readdirSync(databases).filter((file) => file.endsWith('.sqlite'));
  return files.map((file) => join(databases, file)).filter(hasVersions);
}

function hasVersions(file: string): boolean {
  const database = new DatabaseSync(file);
  try {
    return database.prepare('SELECT 1 FROM version LIMIT 1').get() !== undefined;
  } catch {
    // The table does not exist: the database is DIRECTORY.
    return false;
  } finally {
    database.close();
  }
}
