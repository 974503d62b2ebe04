/** Another Tessera as the S3 location of the server under test. */
import { startServer, type TestServer } from '../server.ts';

export interface S3Peer extends AsyncDisposable {
  /** Settings of the server under test. */
  readonly vars: Readonly<Record<string, string>>;
  readonly server: TestServer;
  /** Lists the keys of the location. */
  listKeys(): Promise<string[]>;
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
