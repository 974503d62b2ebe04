/**
 * The webhook of a board: its secrets, and the notices of seasons that ended. A notice is stored in the transaction that publishes
 * the season's archive. Cron sends it, at least once, until the receiver accepts it or three days have passed.
 */
import { randomBytes } from 'node:crypto';
import { openSecret, type SecretKeeper, sealSecret } from '../../identity/index.ts';
import { runInParallel } from '../../shared/concurrency/parallel.ts';
import {
  isDelivered,
  retryAfter,
  sendWebhook,
  toWebhookSecret,
  WEBHOOK_AGE_MS_MAX,
  WEBHOOKS_PARALLEL_MAX,
} from '../../shared/json/webhook.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { readSeason } from '../domain/season-name.ts';
import { createWebhookStore, type DueNotice, type WebhookRow } from '../records/webhook-store.ts';

const SECRET_BYTES = 32;
/** Time for which messages are also signed with the previous secret after a rotation. */
export const ROTATION_MS = 86_400_000;
const NOTICES_PER_RUN = 100;

interface WebhookSecrets {
  /** The present secret, in base64. */
  readonly current: string;
  /** The secret before the last rotation, in base64. Messages are also signed with it until `until`. */
  readonly previous?: { readonly secret: string; readonly until: number };
}

const contextOf = (board: string) => `board-webhook:${board}`;
const mint = (): Buffer => randomBytes(SECRET_BYTES);
const seal = (env: Env, board: string, secrets: WebhookSecrets): string =>
  sealSecret(JSON.stringify(secrets), contextOf(board), env);

function open(env: Env, { board, secretsSealed }: Pick<WebhookRow, 'board' | 'secretsSealed'>): WebhookSecrets {
  const opened = openSecret(secretsSealed, contextOf(board), env);
  if (!opened.ok) throw new Error(`the webhook secrets of ${board} are ${opened.error.kind}`);
  return JSON.parse(opened.value);
}

/** The webhooks' secrets, for the rotation of MASTER_KEY. */
export const webhookSecrets: SecretKeeper = {
  name: 'board_webhooks',
  async list(env, after, limit) {
    const rows = await createWebhookStore(env.DIRECTORY).list(after, limit);
    return rows.map(({ board, secretsSealed }) => ({ key: board, context: contextOf(board), sealed: secretsSealed }));
  },
  async replace(env, key, before, after) {
    await createWebhookStore(env.DIRECTORY).replaceSecrets(key, before, after);
  },
};

/** Creates the webhook of a board, or changes its URL. @returns its secret only if it was created. */
export async function putWebhook(env: Env, board: string, url: string, now: number) {
  const secret = mint();
  const secretsSealed = seal(env, board, { current: secret.toString('base64') });
  const row = await createWebhookStore(env.DIRECTORY).put({ board, url, secretsSealed, createdAt: now });
  return { row, secret: row.secretsSealed === secretsSealed ? toWebhookSecret(secret) : null };
}

/** Replaces the secret of a board's webhook. @returns the new secret; null if the board has no webhook. */
export async function rotateWebhook(env: Env, board: string, now: number) {
  const store = createWebhookStore(env.DIRECTORY);
  const secret = mint();
  for (;;) {
    const row = await store.find(board);
    if (row === null) return null;
    const previous = { secret: open(env, row).current, until: now + ROTATION_MS };
    const after = seal(env, board, { current: secret.toString('base64'), previous });
    if (await store.replaceSecrets(board, row.secretsSealed, after)) return { row, secret: toWebhookSecret(secret) };
  }
}

/** The URL of a board's webhook, and the secrets that sign a message now; null without a webhook. */
export async function openWebhook(env: Env, board: string, now: number) {
  const row = await createWebhookStore(env.DIRECTORY).find(board);
  return row === null ? null : { url: row.url, secrets: secretsAt(open(env, row), now) };
}

export async function sendNotices(env: Env, now: number): Promise<void> {
  const due = await createWebhookStore(env.DIRECTORY).listDueNotices(now, NOTICES_PER_RUN);
  await runInParallel(due, WEBHOOKS_PARALLEL_MAX, (notice) => sendNotice(env, notice, now));
}

async function sendNotice(env: Env, notice: DueNotice, now: number): Promise<void> {
  const { season, board, attempts, createdAt, url } = notice;
  const store = createWebhookStore(env.DIRECTORY);
  if (!(await store.claimNotice(notice, now + retryAfter(attempts)))) return;
  try {
    const webhook = {
      url,
      id: `season_${season.replace(/[.:]/g, '_')}`,
      body: toBody(notice),
      secrets: secretsAt(open(env, notice), now),
    };
    const status = await sendWebhook(webhook, (target) => isPublicUrl(env, target), now);
    if (isDelivered(status)) return await store.removeNotice(season);
    await store.recordStatus(season, status);
    throw new Error(`the receiver answered ${status}`);
  } catch (error) {
    logError('season_notice_failed', error, { board, season });
    if (now - createdAt < WEBHOOK_AGE_MS_MAX) return;
    logError('season_notice_dropped', new Error('no receiver accepted it for 3 days'), { board, season });
    await store.removeNotice(season);
  }
}

const secretsAt = ({ current, previous }: WebhookSecrets, now: number): Buffer[] =>
  [current, ...(previous !== undefined && now < previous.until ? [previous.secret] : [])].map((secret) =>
    Buffer.from(secret, 'base64'),
  );

/** Body of a notice's message. It is the same for every attempt. */
function toBody({ season, board, players, endsAt, closedAt, createdAt }: DueNotice): string {
  const timeOf = (at: number) => new Date(at).toISOString();
  return JSON.stringify({
    type: 'season.ended',
    timestamp: timeOf(closedAt ?? createdAt),
    data: { board, season: readSeason(season).label, players: players ?? 0, ended_at: timeOf(endsAt) },
  });
}
