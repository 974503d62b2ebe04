/** The two cookies of a sign-in with a provider. Both are host-only and hidden from scripts. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, type Result } from '../../shared/pure/result.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { BEGUN_AGE_MS } from './code-flow.ts';
import { PROOF_AGE_MS, type Proof, type Purpose, takeProof } from './proof.ts';

const FOREIGN = problem(403, 'foreign_origin', 'Sign-ins are accepted only from pages of this service.');

const isSecure = (c: Context<JsonApiEnv>): boolean => c.req.url.startsWith('https:');
const nameOf = (c: Context<JsonApiEnv>, name: string): string => (isSecure(c) ? `__Host-${name}` : name);
/** The prefix `__Host-` requires HTTPS, which loopback lacks. */
const optionsOf = (c: Context<JsonApiEnv>) => ({ httpOnly: true, secure: isSecure(c), path: '/' }) as const;

/** The cookie of a sign-in that is under way is Lax: the provider's page leads back to the callback. */
export const setBegun = (c: Context<JsonApiEnv>, content: string): void =>
  setCookie(c, nameOf(c, 'sign-in'), content, { ...optionsOf(c), sameSite: 'Lax', maxAge: BEGUN_AGE_MS / 1000 });

/** Reads the cookie of a sign-in and deletes it: a sign-in is finished once. */
export function takeBegun(c: Context<JsonApiEnv>): string | undefined {
  const content = getCookie(c, nameOf(c, 'sign-in'));
  deleteCookie(c, nameOf(c, 'sign-in'), { ...optionsOf(c), sameSite: 'Lax' });
  return content;
}

export const setProof = (c: Context<JsonApiEnv>, secret: string): void =>
  setCookie(c, nameOf(c, 'sign-in-proof'), secret, {
    ...optionsOf(c),
    sameSite: 'Strict',
    maxAge: PROOF_AGE_MS / 1000,
  });

/** Requires a request of our own pages: the sign-in routes open sessions, and their cookies come without being asked. */
export const refuseForeign = (c: Context<JsonApiEnv>): Problem | null =>
  c.req.header('origin') === appOrigin(c.env, c.req.url) ? null : FOREIGN;

/** Takes the proof of the request's cookie, for what it was begun for. */
export async function takeProofOf(c: Context<JsonApiEnv>, purpose: Purpose): Promise<Result<Proof, Problem>> {
  const foreign = refuseForeign(c);
  if (foreign !== null) return err(foreign);
  const secret = getCookie(c, nameOf(c, 'sign-in-proof'));
  deleteCookie(c, nameOf(c, 'sign-in-proof'), { ...optionsOf(c), sameSite: 'Strict' });
  return takeProof(c.env, purpose, secret, createClock(c.env)());
}
