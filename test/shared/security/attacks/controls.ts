/**
 * Legitimate requests of the same forms as the attacks. They show that a refusal comes from the attack and not from the harness.
 */
import { encodeSignedChunks } from '../../../support/storage/s3-raw.ts';
import { type Control, parsed, send, sendJson, sendLink, sendSigned } from './attack.ts';
import { postForm } from './s3-forms.ts';
import { PASSWORD } from './world.ts';

const OBJECT = '/alice-private/secret.txt';

export const CONTROLS: readonly Control[] = [
  { name: 'a signed GET', attempt: (world) => sendSigned(world, world.alice, 'GET', OBJECT), accepted: 200 },
  { name: 'a presigned GET', attempt: (world) => sendLink(world, world.alice, 'GET', OBJECT), accepted: 200 },
  {
    name: 'a presigned PUT',
    attempt: (world) => sendLink(world, world.alice, 'PUT', '/alice-private/control.txt', undefined, { body: 'x' }),
    accepted: 200,
  },
  {
    name: 'a signed PUT with signed metadata',
    attempt: (world) =>
      sendSigned(world, world.alice, 'PUT', '/alice-private/control.txt', {
        body: 'x',
        headers: { 'x-amz-meta-a': 'b' },
      }),
    accepted: 200,
  },
  {
    name: 'what a bucket policy allows to another user',
    attempt: (world) => sendSigned(world, world.mallory, 'GET', '/alice-partly/open/hello.txt'),
    accepted: 200,
  },
  { name: 'a public object', attempt: (world) => send(world, 'GET', '/alice-public/open/hello.txt'), accepted: 200 },
  {
    name: 'a copy of an own object',
    attempt: (world) =>
      sendSigned(world, world.mallory, 'PUT', '/mallory-own/copy.txt', {
        headers: { 'x-amz-copy-source': '/mallory-own/mine.txt' },
        body: '',
      }),
    accepted: 200,
  },
  {
    name: 'a version read by its owner',
    attempt: (world) =>
      sendSigned(world, world.alice, 'GET', '/alice-versions/secret.txt', { query: { versionId: world.versionId } }),
    accepted: 200,
  },
  {
    name: 'the parts of an upload listed by its owner',
    attempt: (world) =>
      sendSigned(world, world.alice, 'GET', '/alice-private/big', { query: { uploadId: world.uploadId } }),
    accepted: 200,
  },
  { name: 'an upload form', attempt: (world) => postForm(world), accepted: 204 },
  {
    name: 'an upload in signed chunks',
    attempt: (world) => {
      const path = '/alice-private/control-chunks.txt';
      const { headers, body } = encodeSignedChunks(world.server.url, world.alice, path, [
        Buffer.alloc(65_536, 'a'),
        Buffer.from('tail'),
      ]);
      return send(world, 'PUT', path, { headers, body });
    },
    accepted: 200,
  },
  {
    name: 'a token that may read objects',
    attempt: (world) => sendJson(world, 'GET', OBJECT, world.tokens.objects),
    accepted: 200,
  },
  {
    name: 'a write with the cookie from the own origin',
    attempt: (world) =>
      send(world, 'PATCH', '/v1/me', {
        headers: { cookie: world.victim.cookie, origin: world.server.url, 'content-type': 'application/json' },
        body: '{"name":"victim"}',
      }),
    accepted: 200,
  },
  {
    name: 'an app token that reads its mail',
    attempt: (world) => sendJson(world, 'GET', '/v1/folders', world.tokens.mailApp),
    accepted: 200,
  },
  {
    name: 'a sensitive action with the password',
    attempt: (world) => sendJson(world, 'POST', '/v1/me/tokens', world.eve.token, { name: 'own', password: PASSWORD }),
    accepted: 201,
  },
  {
    name: 'a message of an own address',
    attempt: (world) =>
      sendJson(world, 'POST', '/v1/messages', world.eve.token, {
        from: { email: world.eve.email },
        to: [{ email: 'friend@elsewhere.test' }],
        subject: 'x',
        body: 'x',
        attachments: [{ file_name: 'a.txt', content_type: 'text/plain', content: 'eA==' }],
      }),
    accepted: 202,
  },
  {
    name: 'a score of a game server',
    attempt: (world) =>
      sendJson(world, 'POST', '/v1/scores', world.tokens.game, {
        user_id: 'fair',
        points: 5,
        user_name: 'Fair',
        event_id: 'e1',
      }),
    accepted: 200,
  },
  ...(['admin', 'support', 'read'] as const).map((role) => ({
    name: `an operator with the role ${role}`,
    attempt: (world: Parameters<Control['attempt']>[0]) =>
      sendJson(world, 'GET', '/v1/operators/me', world.operators[role]),
    accepted: 200,
  })),
  {
    name: 'a suspension by support',
    attempt: async (world) => {
      const { user_id } = parsed(await sendJson(world, 'POST', '/v1/iam/users', world.server.rootToken, { name: 'x' }));
      return sendJson(world, 'PUT', `/v1/accounts/${user_id}/suspension`, world.operators.support, {
        reason: 'report 3',
      });
    },
    accepted: 200,
  },
];
