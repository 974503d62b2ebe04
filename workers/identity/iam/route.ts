/** Code that the routes of `/v1/iam` share. */
import { z } from '@hono/zod-openapi';
import { problem } from '../../shared/json/problem.ts';

export const COMMON = { tags: ['identity'], security: [{ bearer: [] }] };
export const NO_SUCH_USER = problem(404, 'no_such_user', 'User not found.');
export const userParamSchema = z.object({ user_id: z.string() });
export const toTime = (epochMs: number): string => new Date(epochMs).toISOString();
export const toTimeOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : toTime(epochMs));
