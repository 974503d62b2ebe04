/**
 * `npm run judge:spam -- <spam-training.tar.gz>` prints how the spam check does on mail that it was not trained on, with
 * `bogofilter` beside it where that is installed. It trains fifteen models, which takes a minute or two.
 */
import { readFileSync } from 'node:fs';
import { JUNK_SCORE } from '../workers/mail/checks/spam/index.ts';
import { hasBogofilter, judgeByBogofilter } from './bogofilter.ts';
import { readCorpus } from './spam-corpus.ts';
import {
  caughtAt,
  createModels,
  crossValidate,
  cutFolds,
  measureTraining,
  type Tally,
  tally,
} from './spam-evaluation.ts';

const FOLDS = 5;
const [path] = process.argv.slice(2);
if (path === undefined) {
  console.error('usage: npm run judge:spam -- <spam-training.tar.gz>');
  process.exit(2);
}
const corpus = readCorpus(readFileSync(path));
const foldOf = cutFolds(corpus, FOLDS);
const modelWithout = createModels(corpus, foldOf);
const judged = crossValidate(corpus, foldOf, modelWithout);

const percent = (share: number, digits = 1) => `${(share * 100).toFixed(digits)}%`;
const of = (part: number, whole: number, digits = 1) => `${part} of ${whole} (${percent(part / whole, digits)})`;
function print(title: string, { ham, lost, spam, caught, newsletters, newslettersLost }: Tally): void {
  console.log(`\n${title}
  wanted mail in Junk   ${of(lost.length, ham, 2)}
  spam caught           ${of(caught, spam)}
  newsletters in Junk   ${of(newslettersLost, newsletters)}`);
  for (const { message, score } of lost) console.log(`    lost: ${message.name} (${score}) ${message.text.subject}`);
}
const thresholds = [...new Set(judged.map((one) => one.threshold))].map((each) => each.toFixed(2));
console.log(`${corpus.length} messages, ${FOLDS} folds by time, nothing authenticated`);
print(`each fold at the threshold found on the others (${thresholds.join(', ')})`, tally(judged));
print(`all at the threshold that ships (${JUNK_SCORE})`, tally(judged, JUNK_SCORE));

const ours = judged.map(({ message, score }) => ({ isSpam: message.isSpam, score }));
const theirs = hasBogofilter() ? judgeByBogofilter(corpus, foldOf) : null;
console.log('\nspam caught at equal loss of wanted mail   here    bogofilter');
for (const lost of [0, 1, 2, 5, 12, 25]) {
  const other = theirs ? percent(caughtAt(theirs, lost)) : 'not installed';
  console.log(`  ${String(lost).padStart(2)} lost${' '.repeat(36)}${percent(caughtAt(ours, lost))}   ${other}`);
}
const { marked, alike, alikeCaught, ham, hamLost } = measureTraining(judged, foldOf, modelWithout);
console.log(`\nmissed spam marked as Junk, ${marked} times by a user each
  missed spam like it, Junk from then on   ${of(alikeCaught, alike)}
  wanted mail lost by it                   ${of(hamLost, ham, 3)}`);
