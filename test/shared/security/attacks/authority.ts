/**
 * Attacks with what outlives its right: jobs and tokens of revoked credentials and deleted operators, scopes of one board or bucket,
 * what a thief set up before a new password, and challenges of logins.
 */
import { linkIn, listMails, setRecoveryAddress } from '../../../support/mail/account-mail.ts';
import { createOperator } from '../../../support/operators.ts';
import { solveProof } from '../../../support/proof-of-work.ts';
import { type Attack, parsed, type Reply, send, sendJson, sendSigned } from './attack.ts';
import { PASSWORD, registerPerson, type World } from './world.ts';

const NEW_PASSWORD = 'staple of the horse';
const root = (world: World, method: string, path: string, body?: unknown) =>
  world.server.call(method, path, body, world.server.rootToken);

async function createToken(world: World, scopes: readonly string[], by = world.server.rootToken): Promise<string> {
  const more = scopes.some((scope) => /^(?:objects|bucket)/.test(scope)) ? { user_id: world.alice.userId } : {};
  const { status, body } = await world.server.call('POST', '/v1/iam/tokens', { name: 'x', scopes, ...more }, by);
  if (status !== 201) throw new Error(`token: ${status} ${JSON.stringify(body)}`);
  return body.token;
}

/** Deletes an operator who made a token. @returns the token. */
async function tokenOfGoneOperator(world: World, scopes: readonly string[]): Promise<string> {
  const operator = await createOperator(world.server, 'admin', `gone-${crypto.randomUUID()}`);
  const token = await createToken(world, scopes, operator.token);
  await root(world, 'DELETE', `/v1/operators/${operator.operatorId}`);
  return token;
}

const AFTER_ITS_MAKER: readonly (readonly [string, string, readonly string[], unknown?])[] = [
  ['GET', '/v1/iam/tokens', ['admin']],
  ['GET', '/v1/outbound', ['admin']],
  ['GET', '/v1/storage/stats', ['admin']],
  ['POST', '/v1/scores', ['scores:write'], { user_id: 'gone', points: 1 }],
  ['POST', '/v1/inbound/check', ['inbound'], { from: 'a@b.test', to: ['c@example.test'] }],
  ['POST', '/v1/boards/default/scores', ['board:default:write'], { user_id: 'gone', points: 1 }],
  ['GET', '/alice-private/secret.txt', ['objects:read']],
  ['GET', '/alice-private/secret.txt', ['bucket:alice-private:read']],
];
const MAKERS: readonly Attack[] = AFTER_ITS_MAKER.map(([method, path, scopes, body]) => ({
  name: `${method} ${path} with a token ${scopes.join(' ')} whose operator was deleted`,
  attempt: async (world) => sendJson(world, method, path, await tokenOfGoneOperator(world, scopes), body),
  refusal: [401, 403],
}));

/** Scopes of one board or bucket, and what lies beside. */
const BESIDE: readonly (readonly [string, string, string, unknown?])[] = [
  ['board:other:write', 'POST', '/v1/scores', { user_id: 'x', points: 1 }],
  ['board:other:write', 'POST', '/v1/boards/default/scores', { user_id: 'x', points: 1 }],
  ['board:other:write', 'POST', '/v1/boards/default/scores/batch', { scores: [{ user_id: 'x', points: 1 }] }],
  ['board:other:write', 'POST', '/v1/boards/OTHER%2f..%2fdefault/scores', { user_id: 'x', points: 1 }],
  ['board:other:write', 'PATCH', '/v1/scores/x', { score: 1, reason: 'x' }],
  ['board:other:write', 'PUT', '/v1/boards/other', { name: 'x' }],
  ['board:other:write', 'GET', '/v1/iam/tokens'],
  ['board:other:write', 'GET', '/alice-private/secret.txt'],
  ['bucket:alice-partly:read', 'GET', '/alice-private/secret.txt'],
  ['bucket:alice-partly:read', 'GET', '/alice-partly/../alice-private/secret.txt'],
  ['bucket:alice-partly:read', 'GET', '/alice-partly%2f..%2falice-private/secret.txt'],
  ['bucket:alice-partly:read', 'PUT', '/alice-partly/new.txt', 'x'],
  ['bucket:alice-partly:read', 'DELETE', '/alice-partly/open/hello.txt'],
  ['bucket:alice-partly:read', 'PUT', '/alice-partly?policy', '{}'],
  ['bucket:alice-partly:write', 'PUT', '/alice-private/new.txt', 'x'],
  ['bucket:alice-partly:write', 'PUT', '/alice-partly?policy', '{}'],
  ['bucket:alice-partly:write', 'DELETE', '/alice-private/secret.txt'],
  ['bucket:alice-partly:write', 'GET', '/v1/messages?q=a'],
];
const SCOPES: readonly Attack[] = [
  ...BESIDE.map(
    ([scope, method, path, body]): Attack => ({
      name: `${method} ${path} with a token ${scope}`,
      attempt: async (world) => {
        const token = await createToken(world, [scope]);
        if (path.startsWith('/v1/')) return sendJson(world, method, path, token, body);
        return send(world, method, path, {
          headers: { authorization: `Bearer ${token}` },
          ...(body === undefined ? {} : { body: String(body) }),
        });
      },
      refusal: [400, 401, 403, 404, 405],
    }),
  ),
  {
    name: 'a copy into a bucket with a token of another bucket, whose objects it may read',
    attempt: async (world) => {
      const token = await createToken(world, ['bucket:alice-partly:write']);
      return send(world, 'PUT', '/alice-partly/stolen.txt', {
        headers: { authorization: `Bearer ${token}`, 'x-amz-copy-source': '/alice-private/secret.txt' },
      });
    },
    refusal: [401, 403],
  },
  ...['bucket:*:read', 'bucket:a/../b:read', 'board:*:write', 'board:a:admin', 'bucket:alice-private:admin'].map(
    (scope): Attack => ({
      name: `a token with the scope ${scope}`,
      attempt: (world) =>
        sendJson(world, 'POST', '/v1/iam/tokens', world.server.rootToken, {
          name: 'x',
          scopes: [scope],
          user_id: world.alice.userId,
        }),
      refusal: [400],
    }),
  ),
];

/** Starts a job with a credential and ends the credential at once. @returns the job when it has ended. */
async function orphanJob(
  world: World,
  start: (order: object) => Promise<Reply>,
  end: () => Promise<unknown>,
  kind: string,
) {
  const bucket = `orphan-${crypto.randomUUID()}`;
  await sendSigned(world, world.alice, 'PUT', `/${bucket}`, { body: '' });
  for (let at = 0; at < 160; at += 1) await sendSigned(world, world.alice, 'PUT', `/${bucket}/k${at}`, { body: 'x' });
  const more = kind === 'copy' ? { target: { bucket, prefix: 'copy/' } } : {};
  const started = parsed(await start({ kind, bucket, ...more }));
  await end();
  for (;;) {
    const { body } = await root(world, 'GET', `/v1/storage/jobs/${started.job_id}`);
    if (['done', 'failed', 'canceled'].includes(body.state)) return body;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
const ended: Reply = { status: 403, text: '', headers: {} };
const JOBS: readonly Attack[] = ['copy', 'delete'].flatMap((kind): Attack[] => [
  {
    name: `a job of kind ${kind} goes on after its token was revoked`,
    attempt: async (world) => {
      const scopes = ['objects:read', 'objects:write'];
      const made = await root(world, 'POST', '/v1/iam/tokens', { name: 'x', scopes, user_id: world.alice.userId });
      const job = await orphanJob(
        world,
        (order) => sendJson(world, 'POST', '/v1/storage/jobs', made.body.token, order),
        () => root(world, 'DELETE', `/v1/iam/tokens/${made.body.token_id}`),
        kind,
      );
      return job.state === 'failed' && job.error === 'credential_revoked'
        ? ended
        : { ...ended, status: 200, text: JSON.stringify(job) };
    },
    refusal: [403],
  },
  {
    name: `a job of kind ${kind} goes on after its operator was deleted`,
    attempt: async (world) => {
      const operator = await createOperator(world.server, 'admin', `job-${crypto.randomUUID()}`);
      const job = await orphanJob(
        world,
        (order) => sendJson(world, 'POST', '/v1/storage/jobs', operator.token, order),
        () => root(world, 'DELETE', `/v1/operators/${operator.operatorId}`),
        kind,
      );
      return job.state === 'failed' ? ended : { ...ended, status: 200, text: JSON.stringify(job) };
    },
    refusal: [403],
  },
]);

/** A thief logs in, sets something up, and the owner changes the password. @returns what the thief's credential still gets. */
const afterTheft = (
  name: string,
  setUp: (world: World, thief: string) => Promise<(world: World) => Promise<Reply>>,
  refusal: readonly number[],
): Attack => ({
  name: `after a new password, ${name} of the thief`,
  attempt: async (world) => {
    const owner = await registerPerson(world, `robbed-${crypto.randomUUID().slice(0, 8)}`);
    await setRecoveryAddress(world.server, owner.token, `own-${owner.userId}@outside.test`, PASSWORD);
    const credentials = { email: owner.email, password: PASSWORD };
    const thief = parsed(await sendJson(world, 'POST', '/v1/auth/login', null, credentials)).token;
    await sendJson(world, 'POST', '/v1/auth/confirm', thief, { password: PASSWORD });
    const use = await setUp(world, thief);
    const change = { password: PASSWORD, new_password: NEW_PASSWORD };
    const changed = await sendJson(world, 'POST', '/v1/me/password', owner.token, change);
    if (changed.status !== 204) throw new Error(`the owner cannot change the password: ${changed.text}`);
    return use(world);
  },
  refusal,
});
const THEFT: readonly Attack[] = [
  afterTheft('the session', async (_, thief) => (world) => sendJson(world, 'GET', '/v1/me', thief), [401]),
  afterTheft(
    'an app token',
    async (world, thief) => {
      const { token } = parsed(
        await sendJson(world, 'POST', '/v1/me/tokens', thief, { name: 'x', password: PASSWORD }),
      );
      return (again) => sendJson(again, 'GET', '/v1/messages', token);
    },
    [401],
  ),
  afterTheft(
    'an access key',
    async (world, thief) => {
      const made = parsed(await sendJson(world, 'POST', '/v1/me/access-keys', thief, { password: PASSWORD }));
      const key = { accessKeyId: made.access_key_id ?? 'none', secretAccessKey: made.secret_access_key ?? 'none' };
      return (again) => sendSigned(again, key, 'GET', '/');
    },
    [401, 403],
  ),
  afterTheft(
    'a recovery address that was set within 72 hours',
    async (world, thief) => {
      const email = `thief-${crypto.randomUUID().slice(0, 8)}@outside.test`;
      await setRecoveryAddress(world.server, thief, email, PASSWORD);
      const me = parsed(await sendJson(world, 'GET', '/v1/me', thief));
      return async (again) => {
        await sendJson(again, 'POST', '/v1/auth/forgot', null, { email: me.email });
        // The link would leave at once. Any other mail to the address is a notice.
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        const [link] = listMails(again.server, email, 'Set a new password').map(linkIn);
        return { ...ended, status: link === undefined ? 403 : 200, text: link ?? '' };
      };
    },
    [403],
  ),
];

const login = (world: World, body: object, client: string) =>
  sendJson(world, 'POST', '/v1/auth/login', null, body, {
    'cf-connecting-ip': client,
    // A kept connection ends while the proof is searched.
    connection: 'close',
  });
const STOLEN_PROOFS: readonly (readonly [string, (email: string) => string])[] = [
  ['of another address', () => solveProof('eve@example.test')],
  ['of an hour ago', (email) => solveProof(email, Date.now() - 3_600_000)],
  ['of the future', (email) => solveProof(email, Date.now() + 3_600_000)],
  ['without work', () => `${Math.floor(Date.now() / 60_000)}.1`],
  ['with a line break', (email) => `${solveProof(email)}\n`],
  ['that is empty', () => ''],
];
const CHALLENGES: readonly Attack[] = STOLEN_PROOFS.map(([what, make]) => ({
  name: `a login past the limit of guesses with a proof of work ${what}`,
  attempt: async (world) => {
    const email = 'guessed@example.test';
    for (let client = 1; ; client += 1) {
      const reply = await login(world, { email, password: 'a guess' }, `198.51.100.${client % 250}`);
      if (reply.status === 403) break;
    }
    return login(world, { email, password: 'a guess', proof: make(email) }, '192.0.2.77');
  },
  refusal: [400, 403],
}));

export const AUTHORITY_ATTACKS: readonly Attack[] = [...MAKERS, ...SCOPES, ...JOBS, ...THEFT, ...CHALLENGES];
