/** Operator routes of a board's webhook, which receives a notice of each season that ended. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { findBoard } from '../boards/boards.ts';
import { putWebhook, rotateWebhook } from '../boards/webhooks.ts';
import { boardParamsSchema } from '../contract.ts';
import { readSeason } from '../domain/season-name.ts';
import { createWebhookStore, type NoticeRow, type WebhookRow } from '../records/webhook-store.ts';
import { OPERATOR } from './callers.ts';
import { toProblem } from './errors.ts';

const NOTICES_SHOWN_MAX = 100;

const urlSchema = z.string().max(2_000).openapi({ format: 'uri', example: 'https://game.example.com/hooks/seasons' });
const timeSchema = z.string().openapi({ format: 'date-time' });
const secretSchema = z.string().openapi({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwrX9yzGz8TQY=' });
const webhookSchema = z.object({ url: urlSchema, created_at: timeSchema });
const createdSchema = webhookSchema
  .extend({
    secret: secretSchema.nullable().openapi({ description: 'Null if only the URL changed. Never shown again' }),
  })
  .openapi('BoardWebhookCreated');
const rotatedSchema = webhookSchema.extend({ secret: secretSchema }).openapi('BoardWebhookRotated');
const stateSchema = webhookSchema
  .extend({
    waiting: z.array(
      z.object({
        season: z.string().openapi({ example: '2026-W47' }),
        attempts: z.int(),
        next_attempt_at: timeSchema,
        status: z.int().nullable().openapi({ description: 'HTTP status of the last answer; null without one' }),
      }),
    ),
  })
  .openapi('BoardWebhook');

const ROUTE = { ...OPERATOR, path: '/v1/boards/{board}/webhook' as const };
const params = { params: boardParamsSchema };

export function addWebhooks(api: OpenAPIHono<JsonApiEnv>): void {
  const put = createRoute({
    ...ROUTE,
    method: 'put',
    operationId: 'putBoardWebhook',
    summary: 'Report each ended season of a board to a URL, or change the URL',
    request: { ...params, ...jsonBody(z.strictObject({ url: urlSchema })) },
    responses: {
      200: jsonContent(createdSchema, 'The webhook'),
      ...problemResponses(400, 401, 403, 404),
    },
  });
  api.openapi(put, async (c) => {
    const { board } = c.req.valid('param');
    const { url } = c.req.valid('json');
    if ((await findBoard(c.env, board)) === null) return sendProblem(c, toProblem({ kind: 'unknown_board', board }));
    if (!isPublicUrl(c.env, url)) return sendProblem(c, toProblem({ kind: 'private_url' }));
    const { row, secret } = await putWebhook(c.env, board, url, createClock(c.env)());
    await recordAudit(c, 'board_webhook.set', { type: 'board', id: board }, { is_new: secret !== null });
    return c.json({ ...toWebhookJson(row), secret }, 200);
  });

  const rotate = createRoute({
    ...ROUTE,
    method: 'post',
    path: `${ROUTE.path}/rotate` as const,
    operationId: 'rotateBoardWebhook',
    summary: 'Replace the secret of a webhook. The earlier one signs, too, for 24 hours',
    request: params,
    responses: {
      200: jsonContent(rotatedSchema, 'The webhook with its new secret'),
      ...problemResponses(400, 401, 403, 404),
    },
  });
  api.openapi(rotate, async (c) => {
    const { board } = c.req.valid('param');
    const rotated = await rotateWebhook(c.env, board, createClock(c.env)());
    if (rotated === null) return sendProblem(c, toProblem({ kind: 'no_webhook', board }));
    await recordAudit(c, 'board_webhook.rotate', { type: 'board', id: board });
    return c.json({ ...toWebhookJson(rotated.row), secret: rotated.secret }, 200);
  });

  const get = createRoute({
    ...ROUTE,
    method: 'get',
    operationId: 'getBoardWebhook',
    summary: 'The webhook of a board, and the ends of seasons that its receiver has not accepted yet',
    request: params,
    responses: { 200: jsonContent(stateSchema, 'The webhook'), ...problemResponses(400, 401, 403, 404) },
  });
  api.openapi(get, async (c) => {
    const { board } = c.req.valid('param');
    const store = createWebhookStore(c.env.DIRECTORY);
    const [row, notices] = await Promise.all([store.find(board), store.listNotices(board, NOTICES_SHOWN_MAX)]);
    if (row === null) return sendProblem(c, toProblem({ kind: 'no_webhook', board }));
    return c.json({ ...toWebhookJson(row), waiting: notices.map(toNoticeJson) }, 200);
  });

  const remove = createRoute({
    ...ROUTE,
    method: 'delete',
    operationId: 'deleteBoardWebhook',
    summary: 'Remove the webhook of a board, with what its receiver has not accepted yet',
    request: params,
    responses: { 204: { description: 'Removed' }, ...problemResponses(400, 401, 403, 404) },
  });
  api.openapi(remove, async (c) => {
    const { board } = c.req.valid('param');
    const isRemoved = await createWebhookStore(c.env.DIRECTORY).remove(board);
    if (!isRemoved) return sendProblem(c, toProblem({ kind: 'no_webhook', board }));
    await recordAudit(c, 'board_webhook.delete', { type: 'board', id: board });
    return c.body(null, 204);
  });
}

const timeOf = (at: number) => new Date(at).toISOString();
const toWebhookJson = ({ url, createdAt }: WebhookRow) => ({ url, created_at: timeOf(createdAt) });
const toNoticeJson = ({ season, attempts, dueAt, status }: NoticeRow) => ({
  season: readSeason(season).label,
  attempts,
  next_attempt_at: timeOf(dueAt),
  status,
});
