/**
 * Spam check: rules over headers, links, HTML, authentication and conversation, plus a trained classifier; or rspamd if
 * configured. The score is the sum of the reasons.
 *
 * Gaps: hosts are not looked up in block lists, which forbid many queries from one address, as a shared Worker would send.
 */
import { ok, type Result } from '../../../shared/result.ts';
import type { MimeTree } from '../../mime/mime-tree.ts';
import type { CheckDependencies, CheckSettings } from '../dependencies.ts';
import type { Authentication, Deferred, SpamReason, SpamVerdict } from '../verdicts.ts';
import { CONVERSATION_RULES, HTML_RULES, LINK_RULES, PHRASE_RULES } from './body-rules.ts';
import { type SpamCorrections, type SpamModel, scoreCorrections, scoreTokens, unpackSpamModel } from './classifier.ts';
import { HEADER_RULES } from './header-rules.ts';
import { type MessageText, readMessageText } from './message-text.ts';
import packedModel from './model.generated.json' with { type: 'json' };
import { checkWithRspamd, type MessageForRspamd } from './rspamd.ts';
import { judgeAuthentication, judgePublication, judgeSenderSite } from './sender-rules.ts';
import { toTokens } from './tokens.ts';
import { correct, readCorrections, writeCorrections } from './user-model.ts';

/**
 * Mail at or above this score goes to Junk. `npm run judge:spam` finds, for each part of the training corpus, the lowest threshold
 * that loses at most 0.1% of wanted mail. This value is within their range.
 */
export const JUNK_SCORE = 2.4;
/** Outgoing mail at or above this score is refused. No wanted mail reaches it; GTUBE does. */
export const REJECT_SCORE = 15;
/** Points per unit of log-odds, and the most that the classifier alone may give. A higher score requires rules that agree. */
const CLASSIFIER_POINTS = 1.8;
const CLASSIFIER_POINTS_MAX = 5;
/**
 * Below this number of tokens, points of the classifier against a message are reduced, because few words prove little. In the
 * training corpus, one spam message of a hundred has under 54 tokens, and none of these is missed because of the reduction. Login
 * codes and reminders are as short.
 */
const CONVINCING_TOKENS = 80;
/** A user's own training outweighs any rule. */
const TRAINING_POINTS = 3;
const TRAINING_POINTS_MAX = 9;

/** The generic test for unsolicited bulk e-mail: https://spamassassin.apache.org/gtube/ */
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
const ALL_RULES = [...HEADER_RULES, ...PHRASE_RULES, ...LINK_RULES, ...HTML_RULES, ...CONVERSATION_RULES];

export interface MessageToJudge extends MessageForRspamd {
  /** MIME tree of `raw`, if it was already parsed. */
  readonly tree?: MimeTree;
  readonly userModel?: Uint8Array | null;
}

export interface SpamCheck {
  readonly spam: SpamVerdict;
  readonly tokens: Uint32Array;
}

export async function checkSpam(
  message: MessageToJudge,
  authentication: Authentication,
  settings: CheckSettings,
  dependencies: Pick<CheckDependencies, 'fetch' | 'now'>,
): Promise<Result<SpamCheck, Deferred>> {
  const text = readMessageText(message.raw, message.tree);
  const tokens = toTokens(text);
  if (settings.RSPAMD_URL) {
    const answer = await checkWithRspamd(message, authentication, settings, dependencies.fetch);
    return answer.ok ? ok({ spam: personaliseSpam(answer.value, tokens, message.userModel ?? null), tokens }) : answer;
  }
  const reasons = [...judgeRules(text, authentication, dependencies.now()), ...judgeContent(tokens, shippedModel())];
  const spam = toSpamVerdict(reasons);
  return ok({ spam: personaliseSpam(spam, tokens, message.userModel ?? null), tokens });
}

/** All reasons except the classifier's. */
export function judgeRules(message: MessageText, authentication: Authentication, now: number): SpamReason[] {
  const reasons = ALL_RULES.filter((rule) => rule.applies(message, { now })).map(({ rule, score, text }) => ({
    rule,
    score,
    text,
  }));
  if (message.subject.includes(GTUBE) || message.text.includes(GTUBE)) {
    reasons.push({ rule: 'GTUBE', score: 1000, text: 'Contains the GTUBE test string' });
  }
  return [
    ...reasons,
    ...judgeAuthentication(authentication),
    ...judgeSenderSite(message),
    ...judgePublication(message, authentication),
  ];
}

/** The classifier's judgement as at most one reason. */
export function judgeContent(tokens: Uint32Array, model: SpamModel): SpamReason[] {
  const said = limit(scoreTokens(tokens, model) * CLASSIFIER_POINTS, CLASSIFIER_POINTS_MAX);
  const points = said > 0 ? said * Math.min(1, tokens.length / CONVINCING_TOKENS) : said;
  if (points === 0) return [];
  const text = points > 0 ? 'The text resembles known spam' : 'The text resembles wanted mail';
  return [{ rule: points > 0 ? 'CONTENT_SPAM' : 'CONTENT_HAM', score: points, text }];
}

export function toSpamVerdict(reasons: readonly SpamReason[]): SpamVerdict {
  const score = round(reasons.reduce((sum, reason) => sum + reason.score, 0));
  const rounded = reasons.map((reason) => ({ ...reason, score: round(reason.score) }));
  return { score, verdict: decideVerdict(score), reasons: rounded, engine: 'built-in' };
}

/** Adds a reason to a verdict of the built-in rules. rspamd decides by its own thresholds, so its verdict stays. */
export function addReason(spam: SpamVerdict, reason: SpamReason): SpamVerdict {
  const reasons = [...spam.reasons, reason];
  return spam.engine === 'built-in' ? toSpamVerdict(reasons) : { ...spam, reasons };
}

const decideVerdict = (score: number): SpamVerdict['verdict'] =>
  score >= REJECT_SCORE ? 'reject' : score >= JUNK_SCORE ? 'junk' : 'ham';
const round = (score: number) => Math.round(score * 100) / 100;
const limit = (value: number, most: number) => Math.max(-most, Math.min(most, value));

/** rspamd applies its own thresholds. A user's clear training overrides them. */
function overrule(verdict: SpamVerdict['verdict'], points: number): SpamVerdict['verdict'] {
  if (Math.abs(points) < TRAINING_POINTS) return verdict;
  return points > 0 ? 'junk' : 'ham';
}

let model: SpamModel | null = null;

/** Unpacked at first use, which keeps the start of the Worker short. */
export function shippedModel(): SpamModel {
  model ??= unpackSpamModel(packedModel);
  return model;
}

/** @returns hashes of the tokens that the classifier reads, each once, at most a few thousand. */
export const readTokens = (raw: Uint8Array): Uint32Array => toTokens(readMessageText(raw));

/**
 * Records that a user moved a message to Junk or out of it. Moving it back undoes the first move.
 * @param userModel the previous result of this function, null at first. Opaque, at most 120,001 bytes: store it as one BLOB.
 */
export function trainUserModel(userModel: Uint8Array | null, tokens: Uint32Array, label: 'junk' | 'ham'): Uint8Array {
  const corrections = readCorrections(userModel);
  correct(corrections, tokens, label, shippedModel());
  return writeCorrections(corrections);
}

/** @returns points from a user's own training. */
export const judgeTraining = (tokens: Uint32Array, corrections: SpamCorrections, model: SpamModel): number =>
  round(limit(scoreCorrections(tokens, corrections, model) * TRAINING_POINTS, TRAINING_POINTS_MAX));

/**
 * Adjusts a verdict by the user's own training. `reject` stays, because training does not override certain cases such as GTUBE.
 */
export function personaliseSpam(spam: SpamVerdict, tokens: Uint32Array, userModel: Uint8Array | null): SpamVerdict {
  const corrections = readCorrections(userModel);
  if (corrections.size === 0 || spam.verdict === 'reject') return spam;
  const points = judgeTraining(tokens, corrections, shippedModel());
  if (Math.abs(points) < 0.1) return spam;
  const text = points > 0 ? 'You marked similar mail as junk' : 'You marked similar mail as wanted';
  const score = round(spam.score + points);
  return {
    ...spam,
    score,
    verdict: spam.engine === 'rspamd' ? overrule(spam.verdict, points) : score >= JUNK_SCORE ? 'junk' : 'ham',
    reasons: [...spam.reasons, { rule: 'YOUR_TRAINING', score: points, text }],
  };
}
