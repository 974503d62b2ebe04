/** S3 locations of the server under test: another Tessera, and moto. */
import { spawn } from 'node:child_process';
import { expect } from 'vitest';
import { S3Location as Location } from '../../../workers/shared/s3-location/client.ts';
import { freePort, startServer, type TestServer } from '../server.ts';

export interface S3Location extends AsyncDisposable {
  /** Settings of the server under test. */
  readonly vars: Readonly<Record<string, string>>;
  /** Lists the keys of the location. */
  listKeys(): Promise<string[]>;
}

export interface S3Peer extends S3Location {
  readonly server: TestServer;
  /** Sends a request to a key of the location. */
  request(method: string, key: string, body?: string): Promise<Response>;
}

export async function startS3Peer(): Promise<S3Peer> {
  const server = await startServer({ vars: { PRODUCTS: 'storage' } });
  const { userId, accessKeyId, secretAccessKey } = await server.createAccessKey('mirror');
  const scopes = ['objects:read', 'objects:write'];
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'test', user_id: userId, scopes });
  const headers = { authorization: `Bearer ${body.token}` };
  const request = (method: string, key: string, content?: string) =>
    fetch(`${server.url}/outside${key === '' ? '' : `/${key}`}`, {
      method,
      headers,
      ...(content === undefined ? {} : { body: content }),
    });
  await request('PUT', '');
  return {
    server,
    vars: {
      S3_LOCATION: 's3://outside/copy',
      S3_LOCATION_ENDPOINT: server.url,
      S3_LOCATION_KEY_ID: accessKeyId,
      S3_LOCATION_SECRET: secretAccessKey,
    },
    request,
    async listKeys() {
      const keys: string[] = [];
      for (let after = ''; ; ) {
        const text = await (await request('GET', `?list-type=2&start-after=${encodeURIComponent(after)}`)).text();
        const page = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key);
        keys.push(...page.map((key) => key.replace('copy/', '')));
        if (page.length < 1_000) return keys;
        after = page.at(-1) ?? '';
      }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Starts moto, another S3 server. It does not compare Content-MD5, so `npm run deploy` refuses it. */
export async function startMoto(): Promise<S3Location> {
  const port = await freePort();
  const command = `from moto.server import main; main(['-p', '${port}'])`;
  const child = spawn('python3', ['-c', command], { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${port}`;
  const create = () => fetch(`${endpoint}/outside`, { method: 'PUT' }).then(({ ok }) => ok);
  await expect.poll(() => create().catch(() => false), { timeout: 60_000 }).toBe(true);
  const credential = { accessKeyId: 'moto', secretAccessKey: 'moto' };
  const location = new Location({ endpoint, url: 's3://outside/copy', region: 'us-east-1', ...credential });
  return {
    vars: {
      S3_LOCATION: 's3://outside/copy',
      S3_LOCATION_ENDPOINT: endpoint,
      S3_LOCATION_KEY_ID: 'moto',
      S3_LOCATION_SECRET: 'moto',
    },
    async listKeys() {
      const keys: string[] = [];
      for (;;) {
        const { objects, isLast } = await location.list(keys.at(-1) ?? '');
        keys.push(...objects.map(({ key }) => key));
        if (isLast) return keys;
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
    },
  };
}
