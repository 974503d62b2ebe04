import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toStoredDocument } from '../../../dev/generate/api-document.ts';
import { TYPES_PATH, toTypes } from '../../../dev/generate/api-types.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { sendRaw } from '../../support/storage/s3-raw.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the server', () => {
  it('reports its health without credentials, with a request id', async () => {
    const { status, body, headers } = await server.call('GET', '/v1/health', undefined, null);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        status: 'ok',
        version: expect.any(String),
        commit: expect.any(String),
        version_id: 'local',
        warnings: [],
      },
    });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('describes its JSON APIs in OpenAPI 3.1', async () => {
    const { body } = await server.call('GET', '/v1/openapi.json', undefined, null);
    expect(body.openapi).toBe('3.1.0');
    expect(body.paths['/v1/scores'].post.responses).toHaveProperty('415');
    // A pattern must be the source of a regular expression, without slashes and flags. With a trailing flag it would match nothing.
    const patterns = [...JSON.stringify(body).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, text]) =>
      JSON.parse(text ?? ''),
    );
    expect(patterns.length).toBeGreaterThan(5);
    for (const pattern of patterns) {
      expect(() => new RegExp(pattern, 'u')).not.toThrow();
      expect(pattern).not.toMatch(/\/[a-z]+$|\\p/);
    }
  });

  it('serves the API document from which the types of clients/javascript are made', async () => {
    const { body } = await server.call('GET', '/v1/openapi.json', undefined, null);
    const types = await toTypes(JSON.parse(toStoredDocument(body)));
    expect(types === readFileSync(TYPES_PATH, 'utf8'), 'run npm run generate').toBe(true);
  });

  it('answers an unknown path under /v1 with a problem document', async () => {
    const { status, body, headers } = await server.call('GET', '/v1/nothing-here');
    expect(status).toBe(404);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toMatchObject({ status: 404, code: 'not_found', request_id: headers.get('x-request-id') });
  });

  it('names the allowed methods in a 405', async () => {
    const { status, headers } = await server.call('DELETE', '/v1/iam/users');
    expect([status, headers.get('allow')]).toEqual([405, 'POST, GET']);
  });

  it('rejects bodies with another media type or invalid JSON', async () => {
    const headers = { authorization: `Bearer ${server.rootToken}` };
    const post = (body: string, type: string) =>
      fetch(`${server.url}/v1/iam/users`, { method: 'POST', headers: { ...headers, 'content-type': type }, body });
    expect((await post('{"name":"x"}', 'text/plain')).status).toBe(415);
    expect((await post('{"name":', 'application/json')).status).toBe(400);
  });

  it('names every unknown query parameter, and rejects repeated parameters', async () => {
    const refuse = async (path: string) => {
      const { status, body } = await server.call('GET', path, undefined, null);
      return [status, body.errors?.map((each: { path: string }) => each.path)];
    };
    expect(await refuse('/v1/health?a=1&__proto__=2&a=3&constructor')).toEqual([
      400,
      ['a', '__proto__', 'constructor'],
    ]);
    expect(await refuse('/v1/openapi.json?pretty')).toEqual([400, ['pretty']]);
    expect(await refuse('/v1/seasons?limit=1&limit=2')).toEqual([400, ['limit']]);
    expect(await refuse('/v1/seasons?limit=none&Limit=1')).toEqual([400, ['limit', 'Limit']]);
    expect(await refuse('/v1/nothing-here?a=1')).toEqual([404, undefined]);
  });

  it('limits the size of JSON bodies, with and without Content-Length', async () => {
    const headers = { authorization: `Bearer ${server.rootToken}`, 'content-type': 'application/json' };
    const bytesMax = 4 * 1024 * 1024;
    // The body is rejected by its Content-Length. A client that keeps sending may see the connection close before the response.
    const announced = await sendRaw(server.url, 'POST', '/v1/iam/users', {
      ...headers,
      'content-length': String(bytesMax + 1),
    });
    expect([announced.status, JSON.parse(announced.body.toString()).code]).toEqual([413, 'request_too_large']);
    const post = (text: string) =>
      fetch(`${server.url}/v1/iam/users`, {
        ...{ method: 'POST', headers, body: new Blob([text]).stream(), duplex: 'half' },
      } as RequestInit);
    expect((await post(`{"name":"${'x'.repeat(bytesMax)}"}`)).status).toBe(413);
    const small = await post('{"name":"in pieces"}');
    expect([small.status, await small.json()]).toEqual([201, expect.objectContaining({ name: 'in pieces' })]);
  });

  it('serves service workers only from the web app', async () => {
    const response = await fetch(`${server.url}/bucket/worker.js`, { headers: { 'service-worker': 'script' } });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ request_id: response.headers.get('x-request-id') });
  });

  it('redirects a browser from the root to the web app', async () => {
    const response = await fetch(`${server.url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([302, '/_/']);
  });
});
