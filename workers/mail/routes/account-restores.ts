/** Operator routes that put one mailbox back to an earlier state. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { type RestoreError, readBookmark, replayMailbox, restoreMailbox } from '../maintenance/restore-mailbox.ts';
import { createAccountStore } from '../store/account-store.ts';
import { OPERATOR_ROUTE } from './route.ts';

const params = z.object({ user_id: z.string().max(100) });
const maxSeconds = z.int().min(1).max(300).default(20);
const NO_ACCOUNT = problem(404, 'no_such_account', 'Mail account not found.');
const NO_BOOKMARK = problem(409, 'bookmark_refused', 'The platform has no state of this mailbox there.');

const REFUSALS = {
  store_older: problem(409, 'replay_first', 'The mailbox was put back already. Replay it first.'),
  no_mailbox: problem(404, 'no_mailbox', 'This user has no mailbox.'),
  bookmark_refused: NO_BOOKMARK,
} satisfies Record<RestoreError['kind'], ReturnType<typeof problem>>;

const hasAccount = async (env: Env, userId: string): Promise<boolean> =>
  (await createAccountStore(userDatabaseOf(env, userId)).findAccount(userId)) !== null;

const bookmarkRoute = createRoute({
  ...OPERATOR_ROUTE,
  method: 'post',
  path: '/v1/accounts/{user_id}/bookmark',
  operationId: 'readMailboxBookmark',
  summary: 'Operator: read the bookmark of the present state of a mailbox, or of its state at a time',
  request: { params, ...jsonBody(z.strictObject({ at: z.iso.datetime().optional() })) },
  responses: {
    200: jsonContent(z.object({ bookmark: z.string() }), 'The bookmark'),
    ...problemResponses(400, 401, 403, 404, 409),
  },
});

const restoreRoute = createRoute({
  ...OPERATOR_ROUTE,
  method: 'post',
  path: '/v1/accounts/{user_id}/restore',
  operationId: 'restoreMailbox',
  summary: 'Operator: put a mailbox back to the state of a bookmark. It refuses every call until it is replayed',
  request: { params, ...jsonBody(z.strictObject({ bookmark: z.string().min(1).max(200) })) },
  responses: {
    200: jsonContent(z.object({ number: z.int() }), 'Number that the mailbox has after the replay'),
    ...problemResponses(400, 401, 403, 404, 409),
  },
});

const replayRoute = createRoute({
  ...OPERATOR_ROUTE,
  method: 'post',
  path: '/v1/accounts/{user_id}/replay',
  operationId: 'replayMailbox',
  summary: 'Operator: replay what must hold into a mailbox that was put back, and let it serve',
  request: { params, ...jsonBody(z.strictObject({ max_seconds: maxSeconds })) },
  responses: {
    200: jsonContent(
      z.object({ messages_recovered: z.int(), messages_erased: z.int(), finished: z.boolean() }),
      'What this call replayed',
    ),
    ...problemResponses(400, 401, 403, 404),
  },
});

export function addAccountRestores(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(bookmarkRoute, async (c) => {
    const { user_id: userId } = c.req.valid('param');
    const { at } = c.req.valid('json');
    if (!(await hasAccount(c.env, userId))) return sendProblem(c, NO_ACCOUNT);
    const bookmark = await readBookmark(c.env, userId, at === undefined ? null : Date.parse(at));
    return bookmark === null ? sendProblem(c, NO_BOOKMARK) : c.json({ bookmark }, 200);
  });
  api.openapi(restoreRoute, async (c) => {
    const { user_id: userId } = c.req.valid('param');
    if (!(await hasAccount(c.env, userId))) return sendProblem(c, NO_ACCOUNT);
    const restored = await restoreMailbox(c.env, userId, c.req.valid('json').bookmark);
    if (!restored.ok) return sendProblem(c, REFUSALS[restored.error.kind]);
    await recordAudit(c, 'account.restore', { type: 'user', id: userId });
    return c.json({ number: restored.value }, 200);
  });
  api.openapi(replayRoute, async (c) => {
    const { user_id: userId } = c.req.valid('param');
    if (!(await hasAccount(c.env, userId))) return sendProblem(c, NO_ACCOUNT);
    const deadline = Date.now() + c.req.valid('json').max_seconds * 1000;
    const { isDone: finished, ...report } = await replayMailbox(c.env, userId, () => Date.now() < deadline);
    await recordAudit(c, 'account.replay', { type: 'user', id: userId }, { ...report });
    return c.json({ ...report, finished }, 200);
  });
}
