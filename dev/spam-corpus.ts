/** A corpus of raw messages from a gzipped tar, and what the checks make of it: for `train:spam` and the long test. */
import { gunzipSync } from 'node:zlib';
import { type SpamSample, trainSpamModel } from '../workers/mail/checks/spam/classifier.ts';
import { JUNK_SCORE, judgeContent, judgeRules, toSpamVerdict } from '../workers/mail/checks/spam/index.ts';
import { type MessageText, readMessageText } from '../workers/mail/checks/spam/message-text.ts';
import { toTokens } from '../workers/mail/checks/spam/tokens.ts';
import type { Authentication } from '../workers/mail/checks/verdicts.ts';

export interface CorpusMessage extends SpamSample {
  readonly name: string;
  readonly raw: Uint8Array;
  readonly text: MessageText;
}

export interface JudgedMessage {
  readonly name: string;
  readonly isSpam: boolean;
  readonly score: number;
}

/** Nothing could be looked up: the corpus is older than its DNS records. */
export const unauthenticated: Authentication = {
  spf: { result: 'none', domain: '', identity: 'mailfrom', reason: '' },
  dkim: [],
  dmarc: { result: 'none', domain: '', policy: null, disposition: 'none', reason: '' },
  arc: { result: 'none', instances: 0, domain: '', results: '', reason: '' },
};

/** @param archive `ham/…` and `spam/…` files in a gzipped tar. */
export function readCorpus(archive: Uint8Array): CorpusMessage[] {
  return readTar(gunzipSync(archive))
    .map(({ name, bytes }) => ({ name: name.replace(/^\.\//, ''), raw: bytes }))
    .filter(({ name }) => /^(?:ham|spam)\/[^/]+$/.test(name))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(({ name, raw }) => {
      const text = readMessageText(raw);
      return { name, raw, text, tokens: toTokens(text), isSpam: name.startsWith('spam/') };
    });
}

function readTar(tar: Uint8Array): { name: string; bytes: Uint8Array }[] {
  const files: { name: string; bytes: Uint8Array }[] = [];
  const text = (at: number, length: number) =>
    Buffer.from(tar.subarray(at, at + length))
      .toString('latin1')
      .replace(/\0.*$/s, '');
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8) || 0;
    const kind = text(at + 156, 1);
    if (kind === '0' || kind === '')
      files.push({ name: text(at, 100), bytes: tar.subarray(at + 512, at + 512 + size) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** Cuts each kind of mail into stretches of time. @returns the fold of each message. */
export function cutFolds(corpus: readonly CorpusMessage[], folds: number): Map<CorpusMessage, number> {
  const foldOf = new Map<CorpusMessage, number>();
  for (const isSpam of [false, true]) {
    const group = corpus.filter((message) => message.isSpam === isSpam);
    for (const [index, message] of group.entries()) foldOf.set(message, Math.floor((index * folds) / group.length));
  }
  return foldOf;
}

/** Each fold is judged by a model that never saw it. */
export function crossValidate(corpus: readonly CorpusMessage[], folds: number): JudgedMessage[] {
  const foldOf = cutFolds(corpus, folds);
  const judged: JudgedMessage[] = [];
  for (let fold = 0; fold < folds; fold += 1) {
    const model = trainSpamModel(corpus.filter((message) => foldOf.get(message) !== fold));
    for (const message of corpus.filter((one) => foldOf.get(one) === fold)) {
      const reasons = [
        ...judgeRules(message.text, unauthenticated, Date.UTC(2026, 10, 21)),
        ...judgeContent(message.tokens, model),
      ];
      judged.push({ name: message.name, isSpam: message.isSpam, score: toSpamVerdict(reasons).score });
    }
  }
  return judged;
}

/** @returns the share of spam caught when so many wanted messages may be lost. */
export function caughtAt(judged: readonly JudgedMessage[], hamLostMax: number): number {
  const ham = judged
    .filter((message) => !message.isSpam)
    .map((message) => message.score)
    .sort((left, right) => right - left);
  const threshold = ham[hamLostMax] ?? Number.NEGATIVE_INFINITY;
  const spam = judged.filter((message) => message.isSpam);
  return spam.filter((message) => message.score > threshold).length / spam.length;
}

export function summarise(judged: readonly JudgedMessage[]): string {
  const ham = judged.filter((message) => !message.isSpam);
  const lost = ham.filter((message) => message.score >= JUNK_SCORE);
  const spam = judged.filter((message) => message.isSpam);
  const caught = spam.filter((message) => message.score >= JUNK_SCORE).length;
  const percent = (share: number) => `${(share * 100).toFixed(1)}%`;
  return [
    ...[0, 1, 2, 5, 12].map((most) => `at ${most} ham lost: ${percent(caughtAt(judged, most))} of spam caught`),
    `at the threshold ${JUNK_SCORE}: ${lost.length} of ${ham.length} ham lost, ${percent(caught / spam.length)} of spam caught`,
    ...lost.map((message) => `  lost: ${message.name} (${message.score})`),
  ].join('\n');
}
