/** The password of a share link: sent with each request by a program, or once by a browser, which then has a cookie. */
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { admitAction, admitClient, openSecret, readClient, sealSecret, verifyPassword } from '../../identity/index.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import type { ShareLink } from '../engine/store/share-link-store.ts';

const COOKIE = 'share';
/** Time for which a browser need not ask for the password again. */
const OPEN_SECONDS = 3_600;
/** Guesses at the password of a link. */
const GUESSES = { max: 30, windowMs: 600_000 };

export const NEEDS_PASSWORD = problem(
  401,
  'link_password_required',
  'Send the password of the link by Basic authentication.',
);
export const WRONG_PASSWORD = problem(403, 'link_password_wrong', 'This is not the password of the link.');

const contextOf = ({ linkId }: ShareLink): string => `share-link:${linkId}`;

/** Whether the caller has proven the password: by Basic authentication, or earlier in this browser. */
export async function isUnlocked(c: Context<JsonApiEnv>, link: ShareLink): Promise<Result<null, Problem>> {
  if (link.passwordHash === null) return ok(null);
  const basic = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  if (basic !== undefined) {
    const text = Buffer.from(basic, 'base64').toString();
    return await checkPassword(c, link, text.slice(text.indexOf(':') + 1));
  }
  const until = openSecret(getCookie(c, COOKIE) ?? '', contextOf(link), c.env);
  return until.ok && Number(until.value) > createClock(c.env)() ? ok(null) : err(NEEDS_PASSWORD);
}

export async function checkPassword(
  c: Context<JsonApiEnv>,
  link: ShareLink,
  password: string,
): Promise<Result<null, Problem>> {
  const client = await admitClient(c.env, readClient(c.req.raw.headers));
  if (!client.ok) return client;
  const admitted = await admitAction(c.env, 'share_link', link.linkId, GUESSES, createClock(c.env)());
  if (!admitted.ok) return admitted;
  const isRight = await verifyPassword(password, link.passwordHash, 'stranger');
  if (!isRight.ok) return isRight;
  return isRight.value ? ok(null) : err(WRONG_PASSWORD);
}

/** Gives the browser a cookie for the path of the link. @returns the path. */
export function unlock(c: Context<JsonApiEnv>, link: ShareLink): string {
  const until = createClock(c.env)() + OPEN_SECONDS * 1000;
  const path = new URL(c.req.url).pathname;
  setCookie(c, COOKIE, sealSecret(String(until), contextOf(link), c.env), {
    path,
    httpOnly: true,
    sameSite: 'Strict',
    secure: c.req.url.startsWith('https:'),
    maxAge: OPEN_SECONDS,
  });
  return path;
}
