/** `POST /v1/boards/{board}/reset`: an operator ends the current season of a board, and begins another one. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { DEFAULT_BOARD } from '../boards/boards.ts';
import { resetBoard } from '../boards/resets.ts';
import { boardParamsSchema } from '../contract.ts';
import { OPERATOR } from './callers.ts';
import { toProblem } from './errors.ts';

const resetSchema = z
  .object({
    season: z.string().openapi({ description: 'The season that begins', example: 'all.20261120T100005Z' }),
    ended: z.string().openapi({ description: 'The season that ends', example: 'all' }),
    at: z.string().openapi({ format: 'date-time', description: 'Time at which it holds: half a minute from now' }),
  })
  .openapi('BoardReset');

export function addReset(api: OpenAPIHono<JsonApiEnv>): void {
  const reset = createRoute({
    ...OPERATOR,
    method: 'post',
    path: '/v1/boards/{board}/reset',
    operationId: 'resetBoard',
    summary: 'End the current season of a board and begin another one. A repeat before it holds returns the same',
    request: { params: boardParamsSchema },
    responses: { 200: jsonContent(resetSchema, 'The reset'), ...problemResponses(400, 401, 403, 404, 409) },
  });
  api.openapi(reset, async (c) => {
    const { board: name } = c.req.valid('param');
    if (name === DEFAULT_BOARD.board) return sendProblem(c, toProblem({ kind: 'default_rules_fixed' }));
    const done = await resetBoard(c.env, name, createClock(c.env)());
    if (!done.ok) return sendProblem(c, toProblem(done.error));
    const { season, ended, at } = done.value;
    await recordAudit(c, 'board.reset', { type: 'board', id: name }, { ended, season });
    return c.json({ season, ended, at: new Date(at).toISOString() }, 200);
  });
}
