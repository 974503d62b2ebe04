/**
 * Spam check: rules about headers, links, HTML, authentication and conversation, plus a trained classifier; or rspamd if
 * configured. The score is the sum of the scores of all reasons.
 *
 * Gaps: hosts are not looked up in block lists. These forbid many queries from one address, but a shared Worker sends all its
 * queries from few addresses.
 */
import { ok, type Result } from '../../../shared/pure/result.ts';
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
 * Mail at or above this score goes to Junk. For each part of the training corpus, `npm run judge:spam` finds the lowest threshold
 * at which at most 0.1% of wanted mail is lost. This value is within the range of these thresholds.
 */
export const JUNK_SCORE = 2.4;
/** Outgoing mail at or above this score is refused. No wanted mail reaches this score, but the GTUBE test string does. */
export const REJECT_SCORE = 15;
/**
 * Points per unit of the classifier's log-odds, and the maximum that the classifier alone may give. For a higher score, rules must
 * agree with it.
 */
const CLASSIFIER_POINTS = 1.8;
const CLASSIFIER_POINTS_MAX = 5;
/**
 * If a message has fewer tokens than this, the classifier's points against it are reduced, because few words prove little. Login
 * codes and reminders are that short. In the training corpus, one spam message of a hundred has under 54 tokens, and the reduction
 * causes none of these to be missed.
 */
const CONVINCING_TOKENS = 80;
/** Points of a user's own training. They are high enough to outweigh any rule. */
const TRAINING_POINTS = 3;
const TRAINING_POINTS_MAX = 9;

/** The generic test for unsolicited bulk e-mail: https://spamassassin.apache.org/gtube/ */
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
const ALL_RULES = [...HEADER_RULES, ...PHRASE_RULES, ...LINK_RULES, ...HTML_RULES, ...CONVERSATION_RULES];

export interface MessageToJudge extends MessageForRspamd {
  /** MIME tree of `raw`, if it has been parsed. */
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

/** Applies the rules. @returns all reasons except the classifier's. */
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

/** Applies the classifier. @returns at most one reason. */
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

/**
 * Adds a reason to a verdict of the built-in rules. A verdict of rspamd stays unchanged, because rspamd decides by its own
 * thresholds.
 */
export function addReason(spam: SpamVerdict, reason: SpamReason): SpamVerdict {
  const reasons = [...spam.reasons, reason];
  return spam.engine === 'built-in' ? toSpamVerdict(reasons) : { ...spam, reasons };
}

const decideVerdict = (score: number): SpamVerdict['verdict'] =>
  score >= REJECT_SCORE ? 'reject' : score >= JUNK_SCORE ? 'junk' : 'ham';
const round = (score: number) => Math.round(score * 100) / 100;
const limit = (value: number, most: number) => Math.max(-most, Math.min(most, value));

/** rspamd applies its own thresholds. The user's training overrides its verdict only if it is clear. */
function overrule(verdict: SpamVerdict['verdict'], points: number): SpamVerdict['verdict'] {
  if (Math.abs(points) < TRAINING_POINTS) return verdict;
  return points > 0 ? 'junk' : 'ham';
}

let model: SpamModel | null = null;

/** The model is unpacked at first use, so that the Worker starts quickly. */
export function shippedModel(): SpamModel {
  model ??= unpackSpamModel(packedModel);
  return model;
}

/** @returns hashes of the tokens that the classifier reads: each once, at most a few thousand. */
export const readTokens = (raw: Uint8Array): Uint32Array => toTokens(readMessageText(raw));

/**
 * Trains a user's model on a message that the user moved to Junk or out of it. Moving the message back undoes the training.
 * @param userModel the previous result of this function, null at first. It is opaque and has at most 120,001 bytes: store it as one
 * BLOB.
 */
export function trainUserModel(userModel: Uint8Array | null, tokens: Uint32Array, label: 'junk' | 'ham'): Uint8Array {
  const corrections = readCorrections(userModel);
  correct(corrections, tokens, label, shippedModel());
  return writeCorrections(corrections);
}

/** @returns the points that a user's own training gives a message. */
export const judgeTraining = (tokens: Uint32Array, corrections: SpamCorrections, model: SpamModel): number =>
  round(limit(scoreCorrections(tokens, corrections, model) * TRAINING_POINTS, TRAINING_POINTS_MAX));

/**
 * Adjusts a verdict by the user's own training. A verdict `reject` stays, because training must not override cases such as GTUBE.
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
