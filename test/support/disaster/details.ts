/** What a rescue must restore beside bytes: versions, tags, a lock and a policy of a bucket, folders and flags of a mailbox, and keys. */
import { AwsClient } from 'aws4fetch';
import { expect } from 'vitest';
import { listFolder, type MailUser, postInbound, registerUser } from '../mail/mail.ts';
import type { World } from './world.ts';

const BUCKET = 'details';
/** A snapshot of a mailbox is written an hour after its first change. */
const SNAPSHOT_SECONDS = 3_600;
const PASSWORD = 'correct horse battery';

export class Details {
  readonly #world: World;
  readonly #owner: AwsClient;
  readonly #dora: MailUser;
  #seen: object = {};

  private constructor(world: World, owner: AwsClient, dora: MailUser) {
    this.#world = world;
    this.#owner = owner;
    this.#dora = dora;
  }

  static async make(world: World): Promise<Details> {
    const { server } = world;
    const { accessKeyId, secretAccessKey } = await server.createAccessKey('owner');
    const owner = new AwsClient({ accessKeyId, secretAccessKey, region: 'us-east-1', service: 's3', retries: 0 });
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: String(5 - SNAPSHOT_SECONDS) });
    const details = new Details(world, owner, await registerUser(server, 'dora'));
    await details.#fillMailbox();
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: '0' });
    await details.#fillBucket();
    details.#seen = await details.#read();
    return details;
  }

  /** Expects everything as it was made. */
  async expectSame(): Promise<void> {
    expect(await this.#read()).toEqual(this.#seen);
  }

  async #s3(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<string> {
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    const answer = await this.#owner.fetch(`${this.#world.server.url}/${BUCKET}${path}`, init);
    const text = await answer.text();
    expect(answer.ok, `${method} ${path}: ${text}`).toBe(true);
    return text;
  }

  async #fillBucket(): Promise<void> {
    await this.#s3('PUT', '', { 'x-amz-bucket-object-lock-enabled': 'true' });
    const policy = {
      Version: '2012-10-17',
      Statement: [
        { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${BUCKET}/public/*` },
      ],
    };
    await this.#s3('PUT', '?policy', {}, JSON.stringify(policy));
    for (const text of ['first', 'second', 'x'.repeat(50_000)])
      await this.#s3('PUT', '/doc', { 'x-amz-tagging': `size=${text.length}`, 'x-amz-meta-colour': 'blue' }, text);
    await this.#s3('PUT', '/gone', {}, 'was here');
    await this.#s3('DELETE', '/gone');
    await this.#s3('PUT', '/public/page', {}, 'for all');
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const lock = { 'x-amz-object-lock-mode': 'GOVERNANCE', 'x-amz-object-lock-retain-until-date': until };
    await this.#s3('PUT', '/locked', lock, 'kept');
  }

  async #readBucket(): Promise<object> {
    const versions = await this.#s3('GET', '?versions');
    const ids = [...versions.matchAll(/<Key>doc<\/Key><VersionId>([^<]*)</g)].map(([, id = '']) => id);
    expect(ids).toHaveLength(3);
    const docs = [];
    for (const id of ids)
      docs.push([await this.#s3('GET', `/doc?versionId=${id}`), await this.#s3('GET', `/doc?tagging&versionId=${id}`)]);
    const open = await fetch(`${this.#world.server.url}/${BUCKET}/public/page`);
    const locked = await this.#s3('GET', '/locked?retention');
    return { versions, docs, policy: await this.#s3('GET', '?policy'), open: await open.text(), locked };
  }

  async #fillMailbox(): Promise<void> {
    const { server } = this.#world;
    const { token, email } = this.#dora;
    for (const n of [1, 2, 3]) {
      const raw = `From: Far <far@elsewhere.test>\r\nTo: ${email}\r\nSubject: Detail ${n}\r\nMessage-ID: <detail-${n}@elsewhere.test>\r\n\r\nText ${n}\r\n`;
      expect((await postInbound(server, raw, { from: 'far@elsewhere.test', to: email })).status).toBe(202);
    }
    const list = () => listFolder(server, this.#dora, 'all');
    await expect.poll(async () => (await list()).length, { timeout: 60_000 }).toBe(3);
    const { body: folder } = await server.call('POST', '/v1/folders', { name: 'Kept' }, token);
    for (const { id, subject } of await list()) {
      const change = { 'Detail 1': { folder_id: folder.id }, 'Detail 2': { is_flagged: true, labels: ['blue'] } }[
        subject as string
      ];
      if (change === undefined) continue;
      expect((await server.call('PATCH', `/v1/messages/${id}`, change, token)).status).toBe(200);
    }
  }

  /** The mailbox: its sessions are lost with it, so the person logs in with the password. */
  async #readMailbox(): Promise<object> {
    const { server } = this.#world;
    const { email, userId } = this.#dora;
    const login = await this.#world.operate('/v1/auth/login', { email, password: PASSWORD });
    const user = { email, userId, token: login.token };
    const { body } = await server.call('GET', '/v1/folders', undefined, user.token);
    const names = new Map(body.map(({ id, name }: { id: string; name: string }) => [id, name]));
    const messages = (await listFolder(server, user, 'all')).map((message) => ({
      ...message,
      folder_id: names.get(message.folder_id),
    }));
    return { folders: [...names.values()].sort(), messages };
  }

  #read = async (): Promise<object> => ({ bucket: await this.#readBucket(), mailbox: await this.#readMailbox() });
}
