/**
 * Measures the spam check on mail that it was not trained on. The corpus is cut into folds by time. Each fold is scored by a model
 * that was trained without it. The fold's threshold comes from the other folds only: each of those is scored by a model trained
 * without itself and without the fold under test.
 * \n By design, the scores of the rules are set by hand and not from the folds. Learned on the same folds, they would catch 96% of
 * spam instead of 92%, but only because they would learn that HTML is spam, which was true in 2002.
 */
import { type SpamModel, trainSpamModel } from '../../workers/mail/checks/spam/classifier.ts';
import {
  JUNK_SCORE,
  judgeContent,
  judgeRules,
  judgeTraining,
  toSpamVerdict,
} from '../../workers/mail/checks/spam/index.ts';
import { isNewsletter } from '../../workers/mail/checks/spam/newsletters.ts';
import { correct } from '../../workers/mail/checks/spam/user-model.ts';
import { type CorpusMessage, unauthenticated } from './corpus.ts';

export interface JudgedMessage {
  readonly message: CorpusMessage;
  readonly score: number;
  /** The score from which this message counts as spam. It is chosen without the message's fold. */
  readonly threshold: number;
}

/**
 * Share of wanted mail that the choice of a threshold may lose: half of the allowed 0.1%, as a margin for mail that differs from
 * the corpus.
 */
const HAM_LOST_AIM = 0.0005;
const NOW = Date.UTC(2026, 10, 21);

/** Cuts ham and spam separately into consecutive periods of time. @returns the fold of each message. */
export function cutFolds(corpus: readonly CorpusMessage[], folds: number): Map<CorpusMessage, number> {
  const foldOf = new Map<CorpusMessage, number>();
  for (const isSpam of [false, true]) {
    const group = corpus.filter((message) => message.isSpam === isSpam);
    for (const [index, message] of group.entries()) foldOf.set(message, Math.floor((index * folds) / group.length));
  }
  return foldOf;
}

/** Makes a function that returns the model that was trained without some folds. Each model is trained once. */
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

/** Chooses a threshold. @returns the lowest one that loses at most the share `HAM_LOST_AIM` of these wanted messages. */
function findThreshold(hamScores: readonly number[]): number {
  const falling = [...hamScores].sort((left, right) => right - left);
  return (falling[Math.floor(falling.length * HAM_LOST_AIM)] ?? 0) + 0.01;
}

export interface Tally {
  readonly ham: number;
  readonly lost: readonly JudgedMessage[];
  readonly spam: number;
  readonly caught: number;
  /** Number of wanted messages that look like a newsletter. `newslettersLost` of them count as spam. */
  readonly newsletters: number;
  readonly newslettersLost: number;
}

/** Counts the outcomes. @param threshold applies to all messages. Default: each message's own threshold. */
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

/** Whether a message looks like a newsletter: it has HTML or at least five links, and is not a reply. */
function looksLikeNewsletter({ text }: CorpusMessage): boolean {
  const isReply = text.headers.some(({ name }) => name === 'in-reply-to' || name === 'references');
  const links = new Set(text.links.map((link) => link.href));
  return !isReply && !/^re:/i.test(text.subject) && (text.html !== null || links.size >= 5);
}

/** Returns the share of spam that is caught if at most `hamLostMax` wanted messages may be lost. */
export function caughtAt(judged: readonly { isSpam: boolean; score: number }[], hamLostMax: number): number {
  const ham = judged.filter((one) => !one.isSpam).map((one) => one.score);
  const threshold = ham.sort((left, right) => right - left)[hamLostMax] ?? Number.NEGATIVE_INFINITY;
  const spam = judged.filter((one) => one.isSpam);
  return spam.filter((one) => one.score > threshold).length / spam.length;
}

/** Returns the 95% confidence interval of a share (Wilson). */
export function toInterval(part: number, whole: number): readonly [number, number] {
  if (whole === 0) return [0, 1];
  const z = 1.959964;
  const share = part / whole;
  const centre = share + z ** 2 / (2 * whole);
  const spread = z * Math.sqrt((share * (1 - share)) / whole + z ** 2 / (4 * whole ** 2));
  const scale = 1 + z ** 2 / whole;
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

export interface RescueEffect {
  /** Number of messages that the users rescue, in total. */
  readonly rescued: number;
  /**
   * Amount of other spam that these users receive. `caughtBefore` and `caughtAfter` of it are Junk before and after the rescues.
   */
  readonly spam: number;
  readonly caughtBefore: number;
  readonly caughtAfter: number;
}

const RESCUED_PER_USER = 12;

/**
 * Measures what rescues cost if no sender is proven, so that words are trained. The user of each fold rescues a dozen newsletters
 * from Junk. The corpus has no wanted newsletter in Junk, so caught spam that looks like a newsletter represents them. Copies of a
 * rescued message are not counted. Rescues of proven senders train no words, so they cost nothing.
 */
export function measureRescues(
  judged: readonly JudgedMessage[],
  foldOf: ReadonlyMap<CorpusMessage, number>,
  modelWithout: ReturnType<typeof createModels>,
): RescueEffect {
  const effect = { rescued: 0, spam: 0, caughtBefore: 0, caughtAfter: 0 };
  for (const fold of new Set(foldOf.values())) {
    const model = modelWithout(fold);
    const spam = judged.filter(({ message }) => message.isSpam && foldOf.get(message) === fold);
    const newsletters = spam.filter(({ message, score }) => score >= JUNK_SCORE && isNewsletter(message.text));
    const step = Math.max(1, Math.floor(newsletters.length / RESCUED_PER_USER));
    const rescued = newsletters.filter((_, at) => at % step === 0).slice(0, RESCUED_PER_USER);
    const corrections = new Map<number, number>();
    for (const { message } of rescued) correct(corrections, message.tokens, 'ham', model);
    const others = spam.filter((one) => !rescued.some((each) => each === one || areAlike(each.message, one.message)));
    const isJunkNow = (one: JudgedMessage) =>
      one.score + judgeTraining(one.message.tokens, corrections, model) >= JUNK_SCORE;
    effect.rescued += rescued.length;
    effect.spam += others.length;
    effect.caughtBefore += others.filter(({ score }) => score >= JUNK_SCORE).length;
    effect.caughtAfter += others.filter(isJunkNow).length;
  }
  return effect;
}

export interface TrainingEffect {
  /** Number of missed spam messages that are marked as Junk, each by a different user. */
  readonly marked: number;
  /**
   * Number of other missed spam messages that are similar to a marked one. `alikeCaught` of them are Junk for that user afterwards.
   */
  readonly alike: number;
  readonly alikeCaught: number;
  /** Number of wanted messages that these users had in the Inbox. `hamLost` of them go to Junk only because of the mark. */
  readonly ham: number;
  readonly hamLost: number;
}

/** Share of the smaller message's tokens that two similar messages must have in common. */
const ALIKE_SHARE = 0.5;

/** Measures how marking one missed message as Junk changes the verdicts of the rest of its fold. */
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
