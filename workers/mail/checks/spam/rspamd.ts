/**
 * Spam check by rspamd over HTTP, `POST /checkv2` (https://docs.rspamd.com/developers/protocol). An unclear answer or a timeout
 * is "deferred".
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type CheckDependencies, type CheckSettings, readScannerTimeoutMs } from '../dependencies.ts';
import type { Authentication, Deferred, SpamReason, SpamVerdict } from '../verdicts.ts';

const REASONS_MAX = 100;

export interface MessageForRspamd {
  readonly raw: Uint8Array;
  /** Opens the whole message. Set if `raw` contains only a part of it. */
  readonly readWhole?: () => Promise<ReadableStream<Uint8Array>>;
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  readonly clientIp: string | null;
  readonly helo: string | null;
}

const deferred = (reason: string) => err<Deferred>({ kind: 'deferred', reason: `rspamd: ${reason}` });

export async function checkWithRspamd(
  message: MessageForRspamd,
  authentication: Authentication,
  settings: CheckSettings,
  fetchUrl: CheckDependencies['fetch'],
  timeoutMs = readScannerTimeoutMs(settings),
): Promise<Result<SpamVerdict, Deferred>> {
  try {
    const url = new URL('checkv2', `${settings.RSPAMD_URL?.replace(/\/*$/, '')}/`);
    const response = await fetchUrl(url.href, {
      method: 'POST',
      headers: toHeaders(message, authentication, settings),
      ...(message.readWhole ? { body: await message.readWhole(), duplex: 'half' } : { body: message.raw }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) return deferred(`it answered ${response.status}`);
    return readAnswer(await response.json());
  } catch (error) {
    return deferred(error instanceof Error ? error.message : String(error));
  }
}

function toHeaders(message: MessageForRspamd, authentication: Authentication, settings: CheckSettings): Headers {
  const headers = new Headers({ 'content-type': 'application/octet-stream' });
  // Skips values that a header field cannot hold. An envelope address may have any character.
  const set = (name: string, value: string) => {
    if (value !== '' && /^[\x21-\x7e]+$/.test(value)) headers.append(name, value);
  };
  set('from', message.envelope.from);
  // rspamd reads one Rcpt field, and `append` would join several with a comma. So the first recipient represents all.
  set('rcpt', message.envelope.to[0] ?? '');
  set('ip', message.clientIp ?? '');
  set('helo', message.helo ?? '');
  set('password', settings.RSPAMD_PASSWORD ?? '');
  if (authentication.spf.reason.startsWith('sent by a user')) set('user', message.envelope.from);
  return headers;
}

interface RspamdSymbol {
  readonly name?: unknown;
  readonly score?: unknown;
  readonly metric_score?: unknown;
  readonly description?: unknown;
}

/** rspamd's own thresholds decide, through the action in its answer. */
function readAnswer(answer: unknown): Result<SpamVerdict, Deferred> {
  const { action, score, symbols } = (answer ?? {}) as { action?: unknown; score?: unknown; symbols?: unknown };
  if (typeof score !== 'number' || typeof action !== 'string') return deferred('the answer has no score or action');
  const verdict = toVerdict(action);
  if (verdict === null) return deferred(`unknown action "${action.slice(0, 40)}"`);
  const reasons = symbols !== null && typeof symbols === 'object' ? Object.values(symbols).map(toReason) : [];
  const found = reasons
    .filter((reason) => reason !== null)
    .sort((left, right) => Math.abs(right.score) - Math.abs(left.score));
  return ok({ score, verdict, reasons: found.slice(0, REASONS_MAX), engine: 'rspamd' });
}

/**
 * Converts rspamd's action to a verdict. `soft reject` asks to retry later (greylisting, rate limits); the check is then deferred.
 */
function toVerdict(action: string): SpamVerdict['verdict'] | null {
  switch (action) {
    case 'reject':
      return 'reject';
    case 'add header':
    case 'rewrite subject':
    case 'quarantine':
      return 'junk';
    case 'no action':
    case 'accept':
    // Ignores greylisting: it delays mail during the SMTP dialogue, but this message has been accepted already.
    case 'greylist':
      return 'ham';
    default:
      return null;
  }
}

function toReason(symbol: unknown): SpamReason | null {
  const { name, score, metric_score: metricScore, description } = (symbol ?? {}) as RspamdSymbol;
  const points = typeof score === 'number' ? score : metricScore;
  if (typeof name !== 'string' || typeof points !== 'number') return null;
  return { rule: name, score: points, text: typeof description === 'string' ? description : name };
}
