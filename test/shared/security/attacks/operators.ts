/** Attacks by operators who try to exceed the rights of their role. */

import { OPERATOR_PASSWORD } from '../../../support/operators.ts';
import { codeAt } from '../../../support/totp.ts';
import { type Attack, parsed, sendJson } from './attack.ts';
import type { World } from './world.ts';

type Role = keyof World['operators'];
const PASSWORD = 'a long operator password';

const STORAGE = '/alice-private/secret.txt';
const by = (role: Role, method: string, path: string | ((world: World) => string), body?: unknown): Attack => ({
  name: `${role} tries ${method} ${typeof path === 'string' ? path : 'on a user'} ${body ? JSON.stringify(body).slice(0, 60) : ''}`,
  attempt: (world) =>
    sendJson(world, method, typeof path === 'string' ? path : path(world), world.operators[role], body),
  refusal: path === STORAGE ? [401] : [403],
});

const operator = (role: Role) => ({ login: `more-${role}`, name: 'x', role, password: PASSWORD });
const BELOW: readonly Role[] = ['support', 'read'];

export const OPERATOR_ATTACKS: readonly Attack[] = [
  ...BELOW.flatMap((role) => [
    by(role, 'POST', '/v1/operators', operator('admin')),
    by(role, 'POST', '/v1/operators', operator('read')),
    by(role, 'POST', '/v1/iam/users', { name: 'x' }),
    by(role, 'POST', '/v1/iam/tokens', { name: 'x', scopes: ['admin'] }),
    by(role, 'POST', ({ alice }) => `/v1/iam/users/${alice.userId}/access-keys`, {}),
    by(role, 'PUT', ({ mallory }) => `/v1/iam/users/${mallory.userId}/policies/all`, {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }],
    }),
    by(role, 'DELETE', ({ alice }) => `/v1/iam/users/${alice.userId}`),
    by(role, 'DELETE', '/v1/storage/buckets/alice-partly/policy'),
    by(role, 'POST', '/v1/domains', { domain: 'evil.test' }),
    by(role, 'PATCH', '/v1/scores/more', { score: 9, reason: 'x' }),
    by(role, 'POST', '/v1/iam/reseal'),
  ]),
  by('read', 'PUT', ({ eve }) => `/v1/accounts/${eve.userId}/suspension`, { reason: 'x' }),
  by('read', 'POST', ({ eve }) => `/v1/accounts/${eve.userId}/password-reset`),
  by('read', 'POST', '/v1/invites'),
  by('admin', 'POST', '/v1/operators', operator('admin')),
  ...(['admin', 'support', 'read'] as const).flatMap((role) => [
    by(role, 'GET', '/v1/me'),
    by(role, 'GET', '/v1/messages?q=a'),
    by(role, 'POST', '/v1/scores', { user_id: 'cheat', points: 5 }),
    by(role, 'GET', STORAGE),
  ]),
  ...BELOW.map(
    (role): Attack => ({
      name: `${role} changes its own role`,
      attempt: async (world) => {
        const me = parsed(await sendJson(world, 'GET', '/v1/operators/me', world.operators[role]));
        return sendJson(world, 'PATCH', `/v1/operators/${me.operator_id}`, world.operators[role], { role: 'admin' });
      },
      refusal: [403],
    }),
  ),
  ...(['DELETE', 'PATCH', 'POST', 'PUT'] as const).map(
    (method): Attack => ({
      name: `root changes the audit log with ${method}`,
      attempt: (world) => sendJson(world, method, '/v1/audit', world.server.rootToken, {}),
      refusal: [400, 404, 405],
    }),
  ),
  ...[{}, { totp: '000000' }, { totp: '' }].map(
    (second, i): Attack => ({
      name: `a login of an operator with a bad second factor, form ${i}`,
      attempt: (world) =>
        sendJson(world, 'POST', '/v1/operators/login', null, {
          login: 'op-admin',
          password: OPERATOR_PASSWORD,
          ...second,
        }),
      refusal: [400, 401, 403],
    }),
  ),
  {
    name: 'an operator who was removed',
    attempt: async (world) => {
      const { server } = world;
      const made = await server.call('POST', '/v1/operators', { ...operator('read'), login: 'removed' });
      const totp = codeAt(made.body.totp.secret);
      const entered = await server.call(
        'POST',
        '/v1/operators/login',
        { login: 'removed', password: PASSWORD, totp },
        null,
      );
      await server.call('DELETE', `/v1/operators/${made.body.operator_id}`);
      return sendJson(world, 'GET', '/v1/operators/me', entered.body.token);
    },
    refusal: [401],
  },
  ...['Root', '', 'null', 'undefined', 'root', 'ROOT_TOKEN', '*'].map(
    (token): Attack => ({
      name: `the root token guessed as "${token}"`,
      attempt: (world) =>
        sendJson(world, 'GET', '/v1/iam/users', null, undefined, { authorization: `Bearer ${token}` }),
      refusal: [401],
    }),
  ),
  {
    name: 'the root token with one character less',
    attempt: (world) => sendJson(world, 'GET', '/v1/iam/users', world.server.rootToken.slice(0, -1)),
    refusal: [401],
  },
];
