/**
 * `npm run train:spam -- <spam-training.tar.gz>` writes `workers/mail/checks/spam/model.generated.json`. The gzipped tar has
 * the folders `ham/` and `spam/` with one raw message per file; names sort by time. `npm run judge:spam` measures the result.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packSpamModel, trainSpamModel } from '../../workers/mail/checks/spam/classifier.ts';
import { readCorpus } from './corpus.ts';

const [path] = process.argv.slice(2);
if (path === undefined) {
  console.error('usage: npm run train:spam -- <spam-training.tar.gz>');
  process.exit(2);
}
const corpus = readCorpus(readFileSync(path));
const file = join(import.meta.dirname, '../../workers/mail/checks/spam/model.generated.json');
const text = `${JSON.stringify(packSpamModel(trainSpamModel(corpus)))}\n`;
writeFileSync(file, text);
console.log(`trained on ${corpus.length} messages; wrote ${file}: ${text.length} bytes`);
