/**
 * How well the spam check does on mail that it was not trained on. The corpus is cut into folds by time; each fold is judged by a
 * model that never saw it, against a threshold that was found on the other folds alone, each of these judged by a model that
 * saw neither it nor the fold in question.
 *
 * By design the rules' own scores are not learned here: learned on the same folds they catch 96% of spam instead of 92%, because
 * they learn that HTML is spam, as it was in 2002. They are set by hand and have seen no fold either way.
 */
import { type SpamModel, trainSpamModel } from '../workers/mail/checks/spam/classifier.ts';
import {
  JUNK_SCORE,
  judgeContent,
  judgeRules,
  judgeTraining,
  toSpamVerdict,
} from '../workers/mail/checks/spam/index.ts';
import { correct } from '../workers/mail/checks/spam/user-model.ts';
import { type CorpusMessage, unauthenticated } from './spam-corpus.ts';

export interface JudgedMessage {
  readonly message: CorpusMessage;
  readonly score: number;
  /** What was found without this message's fold. */
  readonly threshold: number;
}

/** Half of the 0.1% that may be lost: other mail is other mail. */
const HAM_LOST_AIM = 0.0005;
const NOW = Date.UTC(2026, 10, 21);

/** Cuts each kind of mail into stretches of time. @returns the fold of each message. */
export function cutFolds(corpus: readonly CorpusMessage[], folds: number): Map<CorpusMessage, number> {
  const foldOf = new Map<CorpusMessage, number>();
  for (const isSpam of [false, true]) {
    const group = corpus.filter((message) => message.isSpam === isSpam);
    for (const [index, message] of group.entries()) foldOf.set(message, Math.floor((index * folds) / group.length));
  }
  return foldOf;
}

/** Models that never saw one or two of the folds, each trained once. */
export function createModels(corpus: readonly CorpusMessage[], foldOf: ReadonlyMap<CorpusMessage, number>) {
  const known = new Map<string, SpamModel>();
  return (...without: number[]): SpamModel => {
    const key = [...new Set(without)].sort().join();
    const model =
      known.get(key) ?? trainSpamModel(corpus.filter((message) => !without.includes(foldOf.get(message) ?? -1)));
    known.set(key, model);
    return model;
  };
}

export function crossValidate(
  corpus: readonly CorpusMessage[],
  foldOf: ReadonlyMap<CorpusMessage, number>,
  modelWithout: ReturnType<typeof createModels>,
): JudgedMessage[] {
  const rules = new Map(corpus.map((message) => [message, judgeRules(message.text, unauthenticated, NOW)]));
  const scoreBy = (message: CorpusMessage, model: SpamModel) =>
    toSpamVerdict([...(rules.get(message) ?? []), ...judgeContent(message.tokens, model)]).score;
  return [...new Set(foldOf.values())].flatMap((fold) => {
    const others = corpus.filter((message) => foldOf.get(message) !== fold && !message.isSpam);
    const known = others.map((message) => scoreBy(message, modelWithout(fold, foldOf.get(message) ?? -1)));
    const threshold = findThreshold(known);
    return corpus
      .filter((message) => foldOf.get(message) === fold)
      .map((message) => ({ message, score: scoreBy(message, modelWithout(fold)), threshold }));
  });
}

/** @returns the lowest threshold at which no more of these wanted messages are lost than aimed at. */
function findThreshold(hamScores: readonly number[]): number {
  const falling = [...hamScores].sort((left, right) => right - left);
  return (falling[Math.floor(falling.length * HAM_LOST_AIM)] ?? 0) + 0.01;
}

export interface Tally {
  readonly ham: number;
  readonly lost: readonly JudgedMessage[];
  readonly spam: number;
  readonly caught: number;
  /** Wanted mail that looks like a newsletter. */
  readonly newsletters: number;
  readonly newslettersLost: number;
}

/** @param threshold for all alike; by default each message's own. */
export function tally(judged: readonly JudgedMessage[], threshold?: number): Tally {
  const isJunk = (one: JudgedMessage) => one.score >= (threshold ?? one.threshold);
  const ham = judged.filter(({ message }) => !message.isSpam);
  const spam = judged.filter(({ message }) => message.isSpam);
  const newsletters = ham.filter(({ message }) => looksLikeNewsletter(message));
  return {
    ham: ham.length,
    lost: ham.filter(isJunk),
    spam: spam.length,
    caught: spam.filter(isJunk).length,
    newsletters: newsletters.length,
    newslettersLost: newsletters.filter(isJunk).length,
  };
}

/** HTML, or a page of links, and no answer to anybody. */
function looksLikeNewsletter({ text }: CorpusMessage): boolean {
  const isAnswer = text.headers.some(({ name }) => name === 'in-reply-to' || name === 'references');
  const links = new Set(text.links.map((link) => link.href));
  return !isAnswer && !/^re:/i.test(text.subject) && (text.html !== null || links.size >= 5);
}

/** @returns the share of spam caught when so many wanted messages may be lost. */
export function caughtAt(judged: readonly { isSpam: boolean; score: number }[], hamLostMax: number): number {
  const ham = judged.filter((one) => !one.isSpam).map((one) => one.score);
  const threshold = ham.sort((left, right) => right - left)[hamLostMax] ?? Number.NEGATIVE_INFINITY;
  const spam = judged.filter((one) => one.isSpam);
  return spam.filter((one) => one.score > threshold).length / spam.length;
}

export interface TrainingEffect {
  /** Spam that was missed and that a user marked, each a user of their own. */
  readonly marked: number;
  /** Other missed spam like a marked one, and how much of it is Junk for that user from then on. */
  readonly alike: number;
  readonly alikeCaught: number;
  /** Wanted mail that these users were shown, and what of it goes to Junk for the mark alone. */
  readonly ham: number;
  readonly hamLost: number;
}

/** Of the smaller one's words and runs of letters. */
const ALIKE_SHARE = 0.5;

/** What marking one missed message as Junk does to the rest of its fold. */
export function measureTraining(
  judged: readonly JudgedMessage[],
  foldOf: ReadonlyMap<CorpusMessage, number>,
  modelWithout: ReturnType<typeof createModels>,
): TrainingEffect {
  const effect = { marked: 0, alike: 0, alikeCaught: 0, ham: 0, hamLost: 0 };
  const missed = judged.filter(({ message, score }) => message.isSpam && score < JUNK_SCORE);
  for (const { message } of missed) {
    const fold = foldOf.get(message) ?? -1;
    const model = modelWithout(fold);
    const corrections = new Map<number, number>();
    correct(corrections, message.tokens, 'junk', model);
    const isJunkNow = (one: JudgedMessage) =>
      one.score + judgeTraining(one.message.tokens, corrections, model) >= JUNK_SCORE;
    const like = missed.filter((one) => one.message !== message && areAlike(one.message, message));
    const ham = judged.filter(
      (one) => !one.message.isSpam && foldOf.get(one.message) === fold && one.score < JUNK_SCORE,
    );
    effect.marked += 1;
    effect.alike += like.length;
    effect.alikeCaught += like.filter(isJunkNow).length;
    effect.ham += ham.length;
    effect.hamLost += ham.filter(isJunkNow).length;
  }
  return effect;
}

function areAlike(left: CorpusMessage, right: CorpusMessage): boolean {
  const known = new Set(left.tokens);
  const shared = right.tokens.filter((token) => known.has(token)).length;
  return shared >= ALIKE_SHARE * Math.min(left.tokens.length, right.tokens.length);
}
