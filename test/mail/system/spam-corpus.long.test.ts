/**
 * Tests the targets of the spam check on mail that it was not trained on. `SPAM_CORPUS` is the path of the gzipped tar with the
 * training mail. It is not in the repository; without it, the tests are skipped.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { hasBogofilter, judgeByBogofilter } from '../../../dev/spam/bogofilter.ts';
import { readCorpus } from '../../../dev/spam/corpus.ts';
import {
  caughtAt,
  createModels,
  crossValidate,
  cutFolds,
  measureRescues,
  measureTraining,
  tally,
} from '../../../dev/spam/evaluation.ts';
import { JUNK_SCORE } from '../../../workers/mail/checks/spam/index.ts';

const path = process.env.SPAM_CORPUS;

describe.skipIf(path === undefined)('on mail of months outside the training set', () => {
  const corpus = path === undefined ? [] : readCorpus(readFileSync(path));
  const foldOf = cutFolds(corpus, 5);
  const modelWithout = createModels(corpus, foldOf);
  const judged = crossValidate(corpus, foldOf, modelWithout);

  test.each([
    ['the threshold of the other folds', undefined],
    ['the shipped threshold', JUNK_SCORE],
  ])(
    'at most 0.1%% of wanted mail and 1%% of newsletters are lost, and at least 91%% of spam is caught, at %s',
    (_, threshold) => {
      const { ham, lost, spam, caught, newsletters, newslettersLost } = tally(judged, threshold);
      expect(lost.length / ham).toBeLessThanOrEqual(0.001);
      expect(newslettersLost / newsletters).toBeLessThanOrEqual(0.01);
      expect(caught / spam).toBeGreaterThanOrEqual(0.91);
    },
  );

  test.skipIf(!hasBogofilter())(
    'bogofilter, trained on the same mail, catches no more spam at any loss of wanted mail up to 1%',
    () => {
      const ours = judged.map(({ message, score }) => ({ isSpam: message.isSpam, score }));
      const theirs = judgeByBogofilter(corpus, foldOf);
      for (const lost of [0, 1, 2, 5, 12, 25])
        expect([lost, caughtAt(ours, lost) >= caughtAt(theirs, lost)]).toEqual([lost, true]);
    },
  );

  test('a dozen rescued newsletters whose sender is not proven cost at most 1% of the other spam', () => {
    const { rescued, spam, caughtBefore, caughtAfter } = measureRescues(judged, foldOf, modelWithout);
    expect(rescued).toBe(60);
    expect((caughtBefore - caughtAfter) / spam).toBeLessThanOrEqual(0.01);
  });

  test('one Junk mark moves most of the similar missed spam to Junk, and hardly any wanted mail', () => {
    const { alike, alikeCaught, ham, hamLost } = measureTraining(judged, foldOf, modelWithout);
    expect(alike).toBeGreaterThan(10);
    expect(alikeCaught / alike).toBeGreaterThan(0.8);
    expect(hamLost / ham).toBeLessThanOrEqual(0.001);
  });
});
