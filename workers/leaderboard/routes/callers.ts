/** Common parts of the declarations of routes: those for everyone, and those for operators. Also the caller's region. */
import type { Context } from 'hono';
import { authorizeFirst, requireOperator } from '../../identity/index.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { regionOf } from '../objects.ts';

export const PUBLIC = { tags: ['leaderboard'], security: [] };
export const OPERATOR = {
  tags: ['leaderboard'],
  security: [{ bearer: [] }],
  middleware: authorizeFirst(requireOperator),
};

/** The region of the caller, whose view serves lists. */
export const readRegion = (c: Context<JsonApiEnv>): string =>
  regionOf((c.req.raw.cf as { continent?: string } | undefined)?.continent);
