/**
 * Cloudflare Turnstile: verifies the token of a widget
 * (https://developers.cloudflare.com/turnstile/get-started/server-side-validation/). A token is valid once and for five minutes.
 * Hostname and action are compared, so a token of another page or form fails.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { logError } from '../../shared/telemetry/log.ts';

const VERIFY_URL = 'https://challenges.cloudflare.com/turnstile/v0/siteverify';
const TIMEOUT_MS = 4_000;
const ATTEMPTS = 2;
/** Error codes of Turnstile that concern the service and not the token. */
const NOT_THE_TOKEN = new Set(['internal-error', 'missing-input-secret', 'invalid-input-secret', 'bad-request']);

const answerSchema = z.object({
  success: z.boolean(),
  hostname: z.string().optional(),
  action: z.string().optional(),
  'error-codes': z.array(z.string()).default([]),
});

export type TurnstileAction = 'login' | 'register';

export const isTurnstileSet = (env: Env): boolean => settingsOf(env).TURNSTILE_SITE_KEY !== '';

/**
 * Verifies the token of a widget.
 * @param url URL of the request, for the expected hostname.
 * @returns `unavailable` if the service cannot be reached in time or has a fault of its own.
 */
export async function verifyTurnstile(
  env: Env,
  token: string,
  { action, url }: { readonly action: TurnstileAction; readonly url: string },
): Promise<'passed' | 'failed' | 'unavailable'> {
  // Both attempts use the same idempotency key. If the first answer was lost, the second attempt gets its result.
  const body = JSON.stringify({
    secret: settingsOf(env).TURNSTILE_SECRET,
    response: token,
    idempotency_key: randomUUID(),
  });
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const answer = await ask(env, body);
    if (answer === null) continue;
    const isOfThisPage = answer.hostname === new URL(appOrigin(env, url)).hostname && answer.action === action;
    return answer.success && isOfThisPage ? 'passed' : 'failed';
  }
  return 'unavailable';
}

/** Asks Turnstile about a token. @returns null if the answer says nothing about the token, or if there is none. */
async function ask(env: Env, body: string): Promise<z.output<typeof answerSchema> | null> {
  const { LOCAL: local, TURNSTILE_VERIFY_URL: standIn } = settingsOf(env);
  try {
    const response = await fetch(local === '1' && standIn !== '' ? standIn : VERIFY_URL, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const answer = answerSchema.parse(await response.json());
    const fault = answer['error-codes'].find((code) => NOT_THE_TOKEN.has(code));
    if (fault === undefined) return answer;
    throw new Error(`Turnstile answered ${fault}`);
  } catch (error) {
    logError('turnstile_verify_failed', error);
    return null;
  }
}
