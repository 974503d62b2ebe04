/**
 * `npm run train:spam -- <spam-training.tar.gz>` makes `workers/mail/checks/spam/model.generated.json` from a gzipped tar with
 * the folders `ham/` and `spam/`, one raw message a file, names in order of time. Before that it cross-validates: five folds cut
 * by time, so that a fold is judged by what was learned from other months. `--dry-run` only measures.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packSpamModel, trainSpamModel } from '../workers/mail/checks/spam/classifier.ts';
import { crossValidate, readCorpus, summarise } from './spam-corpus.ts';

const [path, ...options] = process.argv.slice(2);
if (path === undefined) {
  console.error('usage: npm run train:spam -- <spam-training.tar.gz> [--dry-run]');
  process.exit(2);
}
const corpus = readCorpus(readFileSync(path));
console.log(`${corpus.length} messages`);
console.log(summarise(crossValidate(corpus, 5)));
if (!options.includes('--dry-run')) {
  const file = join(import.meta.dirname, '../workers/mail/checks/spam/model.generated.json');
  const text = `${JSON.stringify(packSpamModel(trainSpamModel(corpus)))}\n`;
  writeFileSync(file, text);
  console.log(`wrote ${file}: ${text.length} bytes`);
}
