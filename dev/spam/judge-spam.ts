/**
 * `npm run judge:spam -- <spam-training.tar.gz>` prints the accuracy of the spam check on mail that it was not trained on,
 * next to that of `bogofilter` if it is installed. It trains fifteen models, which takes one or two minutes.
 */
import { readFileSync } from 'node:fs';
import { JUNK_SCORE } from '../../workers/mail/checks/spam/index.ts';
import { hasBogofilter, judgeByBogofilter } from './bogofilter.ts';
import { readCorpus } from './corpus.ts';
import {
  caughtAt,
  createModels,
  crossValidate,
  cutFolds,
  measureRescues,
  measureTraining,
  type Tally,
  tally,
  toInterval,
} from './evaluation.ts';

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
const of = (part: number, whole: number, digits = 1) => {
  const [low, high] = toInterval(part, whole).map((share) => percent(share, digits));
  return `${part} of ${whole} (${percent(part / whole, digits)}, 95% interval ${low} to ${high})`;
};
function print(title: string, { ham, lost, spam, caught, newsletters, newslettersLost }: Tally): void {
  console.log(`\n${title}
  wanted mail in Junk   ${of(lost.length, ham, 2)}
  spam caught           ${of(caught, spam)}
  newsletters in Junk   ${of(newslettersLost, newsletters)}`);
  for (const { message, score } of lost) console.log(`    lost: ${message.name} (${score}) ${message.text.subject}`);
}
const thresholds = [...new Set(judged.map((one) => one.threshold))].map((each) => each.toFixed(2));
console.log(`${corpus.length} messages, ${FOLDS} folds by time, all mail unauthenticated`);
print(`each fold at the threshold of the other folds (${thresholds.join(', ')})`, tally(judged));
print(`all folds at the shipped threshold (${JUNK_SCORE})`, tally(judged, JUNK_SCORE));

const ours = judged.map(({ message, score }) => ({ isSpam: message.isSpam, score }));
const theirs = hasBogofilter() ? judgeByBogofilter(corpus, foldOf) : null;
console.log('\nspam caught at equal loss of wanted mail   Tessera bogofilter');
for (const lost of [0, 1, 2, 5, 12, 25]) {
  const other = theirs ? percent(caughtAt(theirs, lost)) : 'not installed';
  console.log(`  ${String(lost).padStart(2)} lost${' '.repeat(36)}${percent(caughtAt(ours, lost))}   ${other}`);
}
const { marked, alike, alikeCaught, ham, hamLost } = measureTraining(judged, foldOf, modelWithout);
console.log(`\n${marked} users each mark one missed spam message as Junk
  similar missed spam, Junk after that     ${of(alikeCaught, alike)}
  wanted mail lost because of it           ${of(hamLost, ham, 3)}`);

const rescues = measureRescues(judged, foldOf, modelWithout);
console.log(`\n${FOLDS} users rescue ${rescues.rescued} newsletters whose sender is not proven
  other spam caught before                 ${of(rescues.caughtBefore, rescues.spam)}
  after                                    ${of(rescues.caughtAfter, rescues.spam)}`);
