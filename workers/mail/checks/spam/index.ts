/** Is it spam? Rules and a classifier, or rspamd when it is configured. */
import { ok, type Result } from '../../../shared/result.ts';
import type { CheckDependencies, CheckSettings } from '../dependencies.ts';
import type { Authentication, Deferred, SpamReason, SpamVerdict } from '../verdicts.ts';

/** Mail at or above this score belongs into Junk. */
export const JUNK_SCORE = 5;
/** At or above this score it is refused on the way out: only what no wanted mail reaches, such as GTUBE. */
export const REJECT_SCORE = 15;

/** The generic test for unsolicited bulk e-mail: https://spamassassin.apache.org/gtube/ */
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';

export interface MessageToJudge {
  readonly raw: Uint8Array;
  readonly userModel?: Uint8Array | null;
}

export async function checkSpam(
  message: MessageToJudge,
  _authentication: Authentication,
  _settings: CheckSettings,
  _dependencies: CheckDependencies,
): Promise<Result<{ spam: SpamVerdict; tokens: Uint32Array }, Deferred>> {
  const reasons: SpamReason[] = [];
  if (Buffer.from(message.raw.buffer, message.raw.byteOffset, message.raw.byteLength).includes(GTUBE)) {
    reasons.push({ rule: 'GTUBE', score: 1000, text: 'The test string that every spam filter must catch' });
  }
  return ok({ spam: toSpamVerdict(reasons), tokens: readTokens(message.raw) });
}

function toSpamVerdict(reasons: readonly SpamReason[]): SpamVerdict {
  const score = reasons.reduce((sum, reason) => sum + reason.score, 0);
  const verdict = score >= REJECT_SCORE ? 'reject' : score >= JUNK_SCORE ? 'junk' : 'ham';
  return { score, verdict, reasons, engine: 'built-in' };
}

/** @returns hashes of what the classifier reads in a message, each once, at most a few thousand. */
export function readTokens(_raw: Uint8Array): Uint32Array {
  return new Uint32Array();
}

/**
 * A user moved a message to Junk or out of it.
 *
 * @param model what this function returned before, null at first. Opaque, at most a few hundred KiB: keep it as one BLOB.
 * @param previous what the same message was trained as before, when it was: that is taken back first.
 */
export function trainUserModel(
  model: Uint8Array | null,
  _tokens: Uint32Array,
  _as: 'junk' | 'ham',
  _previous: 'junk' | 'ham' | null,
): Uint8Array {
  return model ?? new Uint8Array();
}

/** The verdict as this user's own training sees it. */
export function personaliseSpam(spam: SpamVerdict, _tokens: Uint32Array, _model: Uint8Array | null): SpamVerdict {
  return spam;
}
