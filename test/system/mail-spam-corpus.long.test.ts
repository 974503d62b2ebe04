/**
 * The classifier against `bogofilter` on the same mail. `SPAM_CORPUS` names the gzipped tar that the model was trained from; it is
 * not in the repository, so without it there is nothing to judge.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type CorpusMessage,
  caughtAt,
  crossValidate,
  cutFolds,
  type JudgedMessage,
  readCorpus,
  summarise,
} from '../../dev/spam-corpus.ts';
import { JUNK_SCORE } from '../../workers/mail/checks/spam/index.ts';

const FOLDS = 5;
const path = process.env.SPAM_CORPUS;
const hasBogofilter = spawnSync('bogofilter', ['-V']).status === 0;

describe.skipIf(path === undefined)('on mail of months that it was not trained on', () => {
  const corpus = path === undefined ? [] : readCorpus(readFileSync(path));
  const ours = crossValidate(corpus, FOLDS);
  console.log(summarise(ours));

  test('at most 0.1% of wanted mail is lost and at least 90% of spam is caught', () => {
    const ham = ours.filter((message) => !message.isSpam);
    const spam = ours.filter((message) => message.isSpam);
    const lost = ham.filter((message) => message.score >= JUNK_SCORE).length;
    expect(lost / ham.length).toBeLessThanOrEqual(0.001);
    expect(spam.filter((message) => message.score >= JUNK_SCORE).length / spam.length).toBeGreaterThanOrEqual(0.9);
  });

  test.skipIf(!hasBogofilter)(
    'bogofilter, trained on the same, catches no more at any loss of wanted mail up to 1%',
    () => {
      const theirs = judgeByBogofilter(corpus);
      for (const lost of [0, 1, 2, 5, 12, 25]) {
        const [mine, other] = [caughtAt(ours, lost), caughtAt(theirs, lost)];
        console.log(`${lost} lost: ours ${(mine * 100).toFixed(1)}%, bogofilter ${(other * 100).toFixed(1)}%`);
        expect(mine).toBeGreaterThanOrEqual(other);
      }
    },
  );
});

/** The same folds; the header fields that give the label away are left out for it too. */
function judgeByBogofilter(corpus: readonly CorpusMessage[]): JudgedMessage[] {
  const root = mkdtempSync(join(tmpdir(), 'bogofilter-'));
  const foldOf = cutFolds(corpus, FOLDS);
  try {
    const files = new Map(corpus.map((message, index) => [message, join(root, `${index}.eml`)]));
    for (const [message, file] of files) writeFileSync(file, withoutTraces(message.raw));
    return Array.from({ length: FOLDS }, (_, fold) => {
      const words = join(root, `words-${fold}`);
      mkdirSync(words);
      const learn = (flag: string, isSpam: boolean) => {
        const list = corpus
          .filter((one) => foldOf.get(one) !== fold && one.isSpam === isSpam)
          .map((one) => files.get(one));
        execFileSync('bogofilter', ['-d', words, flag, '-b'], { input: list.join('\n') });
      };
      learn('-s', true);
      learn('-n', false);
      const judged = corpus.filter((one) => foldOf.get(one) === fold);
      const input = judged.map((one) => files.get(one)).join('\n');
      const { stdout } = spawnSync('bogofilter', ['-d', words, '-T', '-T', '-b'], { input, maxBuffer: 1e8 });
      const scores = stdout
        .toString()
        .trim()
        .split('\n')
        .map((line) => Number(line.trim().split(/\s+/).at(-1)));
      expect(scores.length).toBe(judged.length);
      return judged.map((one, at) => ({ name: one.name, isSpam: one.isSpam, score: scores[at] ?? 0 }));
    }).flat();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function withoutTraces(raw: Uint8Array): Buffer {
  const text = Buffer.from(raw).toString('latin1');
  const end = text.search(/\r?\n\r?\n/);
  const head = text.slice(0, end).replace(/^From .*\r?\n/, '');
  const fields = head.split(/\r?\n(?![ \t])/);
  const kept = fields.filter((field: string) =>
    /^(?:from|subject|reply-to|content-[\w-]+|mime-version|x-mailer):/i.test(field),
  );
  return Buffer.from(kept.join('\n') + text.slice(end), 'latin1');
}
