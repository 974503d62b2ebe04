/** Code that the operator routes share, in their declarations and handlers. */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type JsonApiEnv, problemResponses } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { unguardedEnv } from '../../shared/stores/guarded-database.ts';
import { createEngineContext } from '../engine/index.ts';
import type { EngineContext } from '../engine/model/context.ts';

export const OPERATOR = { tags: ['storage'], security: [{ bearer: [] }] };

export const json = <T extends z.ZodType>(schema: T, description: string) => ({
  200: { description, content: { 'application/json': { schema } } },
  ...problemResponses(400, 401, 403, 500),
});

export const body = <T extends z.ZodType>(schema: T) => ({ body: { content: { 'application/json': { schema } } } });

export const NO_BUCKET = problem(404, 'no_such_bucket', 'Bucket not found.');
export const UNAVAILABLE = problem(503, 'unavailable');

export const count = z.int();
export const maxSeconds = z.int().min(1).max(300);

export const contextOf = (c: Context<JsonApiEnv>): EngineContext =>
  createEngineContext(c.env, createClock(c.env), c.executionCtx);

/** The context of work that mends a database which was lost or put back to an earlier state. */
export const recoveryContextOf = (c: Context<JsonApiEnv>): EngineContext =>
  createEngineContext(unguardedEnv(c.env), createClock(c.env), c.executionCtx);

/** Limits the duration of work. @returns a function that returns true until this many seconds have passed. */
export function isWithin(seconds: number): () => boolean {
  const deadline = Date.now() + seconds * 1000;
  return () => Date.now() < deadline;
}
