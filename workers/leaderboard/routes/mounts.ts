/**
 * The two sets of paths under which the routes of a board are registered: `/v1/scores` etc. for `default`, and below
 * `/v1/boards/{board}` for the other boards.
 */
import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { BOARD_POINTS_MAX, POINTS_MAX } from '../../../durable-objects/leaderboard/protocol.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { boardNameSchema, boardParamsSchema, seasonSchemaOf, updateSchemaOf } from '../contract.ts';

export const DEFAULT_MOUNT = {
  prefix: '/v1' as string,
  params: {} as { board?: z.ZodType<string> },
  /** Path parameters of routes that have no others. Empty for `default`, so that nothing is validated. */
  inPath: {} as { params?: typeof boardParamsSchema },
  season: seasonSchemaOf('month'),
  update: updateSchemaOf(POINTS_MAX, 'month').openapi('ScoreUpdate'),
  updateName: 'ScoreUpdate',
  idOf: (operationId: string) => operationId,
};
export type Mount = typeof DEFAULT_MOUNT;

export const BOARD_MOUNT: Mount = {
  prefix: '/v1/boards/{board}',
  params: { board: boardNameSchema },
  inPath: { params: boardParamsSchema },
  season: seasonSchemaOf(),
  update: updateSchemaOf(BOARD_POINTS_MAX).openapi('BoardScoreUpdate'),
  updateName: 'BoardScoreUpdate',
  idOf: (operationId) => `${operationId}OfBoard`,
};

/** Name of the board in the path; undefined for `default`. */
export const boardOf = (c: Context<JsonApiEnv>): string | undefined => c.req.param('board');
