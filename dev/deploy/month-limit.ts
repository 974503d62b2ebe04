/** The limit of mail in a month at an upgrade, so that an installation that sends much does not find its mail waiting. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { EMAIL_SERVICE, splitTransports } from '../../workers/mail/domain/transport-choice.ts';
import { parseSettings } from '../../workers/shared/settings/settings.ts';
import { ACCEPTED_RECIPIENTS } from '../../workers/shared/telemetry/counters.ts';
import { reasonOf } from './cloudflare-api.ts';
import type { Account } from './resources.ts';

const TIMEOUT_MS = 30_000;
const PERMISSION = 'Account > Account Analytics > Read';
const HINT = `Set MAIL_OUT_PER_MONTH if this installation sends to more than 100,000 recipients a month through Email Service.`;

/**
 * Reads what was sent in the last 30 days from Analytics Engine, and decides the limit: twice as much, if that is more than the default.
 * @param vars variables of the Worker.
 * @returns the value of MAIL_OUT_PER_MONTH; null if it is set, if the default is enough, if no mail goes through Email Service, or if the
 * counts cannot be read, which is printed.
 */
export async function findMonthLimit(account: Account, vars: Readonly<Record<string, string>>): Promise<string | null> {
  const { settings } = parseSettings(vars);
  const isSending =
    settings.PRODUCTS.includes('mail') && splitTransports(settings.MAIL_TRANSPORT).includes(EMAIL_SERVICE);
  if (vars.MAIL_OUT_PER_MONTH || !isSending) return null;
  try {
    const limit = 2 * (await countSent(account, vars.ANALYTICS_DATASET ?? ''));
    return limit > settings.MAIL_OUT_PER_MONTH ? String(limit) : null;
  } catch (error) {
    console.log(`The mail of the last 30 days is unknown (${reasonOf(error)}; it needs ${PERMISSION}). ${HINT}`);
    return null;
  }
}

/** @returns accepted recipients of Email Service, or messages if there are more: a version before 0.3.0 counted only those. */
async function countSent({ access, accountId }: Account, dataset: string): Promise<number> {
  const count = (condition: string) => `sum(if(${condition}, _sample_interval * double1, 0))`;
  const sql = `SELECT ${count(`blob2 = '${ACCEPTED_RECIPIENTS}'`)} AS recipients,
    ${count("blob1 = 'operations' AND blob2 = 'mail_out' AND blob3 = 'ok'")} AS messages
    FROM ${dataset} WHERE timestamp > NOW() - INTERVAL '30' DAY FORMAT JSON`;
  const response = await fetch(`${access.baseUrl}/accounts/${accountId}/analytics_engine/sql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access.token}` },
    body: sql,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`Analytics Engine answers ${response.status}`);
  const { data } = (await response.json()) as { data: { recipients?: number | string; messages?: number | string }[] };
  return Math.ceil(Math.max(Number(data[0]?.recipients ?? 0), Number(data[0]?.messages ?? 0)));
}

/** Adds the limit to the file of the variables, for later deployments. */
export function keepMonthLimit(path: string, limit: string): void {
  const isLineOpen = existsSync(path) && !/(?:^|\n)$/.test(readFileSync(path, 'utf8'));
  appendFileSync(path, `${isLineOpen ? '\n' : ''}MAIL_OUT_PER_MONTH=${limit}\n`);
  console.log(
    `MAIL_OUT_PER_MONTH=${limit} (twice the mail of the last 30 days) is in ${basename(path)}. It limits what Email Service may cost in a month.`,
  );
}
