/**
 * Doubles everything that a client can repeat or nest, on every route that takes JSON or XML. Each such request is refused with the
 * protocol's own error, or answered within the budget of an answer. None fails, and the server answers others afterwards.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { confirmSession, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import type { Credentials } from '../../support/storage/s3-client.ts';
import { sendRaw } from '../../support/storage/s3-raw.ts';
import { signRequest } from '../../support/storage/sigv4-signer.ts';
import {
  type ApiDocument,
  type BodyRoute,
  listBodyRoutes,
  MULTIPLIED_JSON,
  multiplySchema,
  multiplyXml,
  XML_DOCUMENTS,
} from './request-budgets.ts';

const ANSWER_BYTES_MAX = 10_000_000;
/** An error quotes nothing of the request that multiplies. */
const REFUSAL_BYTES_MAX = 16 * 1024;
/** Sizes of documents: the largest list that S3 takes, and the largest other document. */
const LIST_BYTES = 8_000_000;
const DOCUMENT_BYTES = 500_000;
let server: TestServer;
let user: MailUser;
let owner: Credentials;
let document: ApiDocument;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', REQUESTS_PER_USER: '100000' } });
  user = await registerUser(server, 'doubler');
  await confirmSession(server, user.token);
  owner = await server.createAccessKey('doubler');
  document = (await server.call('GET', '/v1/openapi.json')).body;
  const put = (path: string) => sendSigned('PUT', path, {}, '');
  expect([(await put('/doubled')).status, (await put('/doubled/secret.txt')).status]).toEqual([200, 200]);
});
afterAll(() => server[Symbol.asyncDispose]());

async function sendSigned(method: string, path: string, query: Record<string, string>, body: string) {
  const headers = {
    'content-length': String(Buffer.byteLength(body)),
    'content-md5': createHash('md5').update(body).digest('base64'),
  };
  const signed = signRequest({ url: server.url, credentials: owner, method, path, query, headers });
  return sendRaw(server.url, method, signed.target, signed.headers, body);
}

const isOfUsers = ({ path }: BodyRoute): boolean =>
  /^\/v1\/(?:me|messages|drafts|folders|threads|filters|contacts|senders|push-subscriptions|auth)\b/.test(path);

/** Sends a body to a route, with a credential that may call it. Ids in the path exist nowhere. */
async function send(route: BodyRoute, body: string) {
  const path = route.path.replace(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');
  const token = route.isOpen ? null : isOfUsers(route) ? user.token : server.rootToken;
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  return sendRaw(server.url, route.method, path, headers, body);
}

it('every route that takes JSON refuses bodies that repeat or nest without end', async () => {
  const routes = listBodyRoutes(document);
  expect(routes.length).toBeGreaterThan(80);
  for (const route of routes) {
    for (const { what, body } of MULTIPLIED_JSON) {
      const answer = await send(route, body);
      const name = `${route.method} ${route.path}: ${what}`;
      expect([name, [400, 403, 413].includes(answer.status) ? 'refused' : answer.status]).toEqual([name, 'refused']);
      expect(answer.body.length).toBeLessThan(REFUSAL_BYTES_MAX);
    }
  }
});

it.each([[1_000], [20_000]])(
  'every member of every body is limited or answered within the budget: %i',
  async (count) => {
    for (const route of listBodyRoutes(document)) {
      for (const { what, body } of multiplySchema(route, document.components.schemas, count)) {
        const answer = await send(route, body);
        const name = `${route.method} ${route.path}: ${what}`;
        expect([name, answer.status < 500 || answer.body.toString().slice(0, 200)]).toEqual([name, true]);
        expect(answer.body.length).toBeLessThan(answer.status < 300 ? ANSWER_BYTES_MAX : REFUSAL_BYTES_MAX);
      }
    }
  },
);

describe('every document of S3', () => {
  it.each(XML_DOCUMENTS)('%s %s?%s refuses what multiplies', async (method, path, query, root) => {
    const isList = method === 'POST';
    const tooLong = multiplyXml(root, LIST_BYTES).slice(0, 1);
    for (const { what, body } of [...tooLong, ...multiplyXml(root, isList ? LIST_BYTES : DOCUMENT_BYTES)]) {
      const [name = '', value = ''] = query.split('=');
      const answer = await sendSigned(method, `/doubled${path}`, { [name]: value }, body);
      expect([what, answer.status, /<Code>(\w+)</.exec(answer.body.toString())?.[1]]).toEqual([
        what,
        400,
        expect.stringMatching(
          /^(?:MalformedXML|MalformedACLError|EntityTooLarge|MaxMessageLengthExceeded|InvalidRequest|InvalidArgument|NotImplemented)$/,
        ),
      ]);
    }
  });
});

it('others are served afterwards', async () => {
  expect((await server.call('GET', '/v1/folders', undefined, user.token)).status).toBe(200);
});
