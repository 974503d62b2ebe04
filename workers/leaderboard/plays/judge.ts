/** The judgement of a studio: its webhook is asked about a result, and answers whether it counts. */

import { signWebhook } from '../../shared/json/webhook.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { logError } from '../../shared/telemetry/log.ts';
import type { Board } from '../boards/boards.ts';
import { openWebhook } from '../boards/webhooks.ts';
import type { Play } from './play.ts';

/** Time that the request of a page waits for the judgement. */
const ANSWER_MS = 5_000;
const ANSWER_BYTES_MAX = 4_096;

export type Verdict = 'accept' | 'quarantine' | 'refuse';
const VERDICTS: readonly unknown[] = ['accept', 'quarantine', 'refuse'] satisfies Verdict[];

export interface JudgedResult {
  readonly points: number;
  readonly userName: string | null;
  /** JSON text; null without data. */
  readonly data: string | null;
}

/** Asks the webhook of a board about a result. @returns null without an answer in the documented form */
export async function askJudge(
  env: Env,
  board: Board,
  { id, userId, startedAt }: Play,
  { points, userName, data, now }: JudgedResult & { readonly now: number },
): Promise<Verdict | null> {
  try {
    const webhook = await openWebhook(env, board.board, now);
    if (webhook === null || !isPublicUrl(env, webhook.url)) return null;
    const result = { board: board.board, play_id: id, user_id: userId, user_name: userName, points };
    const times = { started_at: new Date(startedAt).toISOString(), seconds: (now - startedAt) / 1_000 };
    const body = JSON.stringify({
      type: 'result.submitted',
      timestamp: new Date(now).toISOString(),
      data: { ...result, ...times, data: data === null ? null : JSON.parse(data) },
    });
    const headers = signWebhook({ id: `play_${id}`, body, secrets: webhook.secrets }, now);
    const response = await fetch(webhook.url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const answer = new Uint8Array(ANSWER_BYTES_MAX);
    const read = await response.body?.getReader({ mode: 'byob' }).readAtLeast(ANSWER_BYTES_MAX, answer);
    if (response.status !== 200) throw new Error(`the webhook answered ${response.status}`);
    const { verdict } = JSON.parse(Buffer.from(read?.value ?? []).toString('utf8')) as { verdict?: unknown };
    if (VERDICTS.includes(verdict)) return verdict as Verdict;
    throw new Error('the webhook gave no verdict');
  } catch (error) {
    logError('leaderboard_judge_failed', error, { board: board.board });
    return null;
  }
}
