/**
 * Fills the running server of a release and stores its facts: `node test/support/states/make-state.ts URL ROOT_TOKEN FOLDER`, where
 * FOLDER is the server's STATE_DIR, with the file of DEV_VARS as `dev.vars`. Let cron run once (a minute), end the server, remove
 * the folders `cache`, `ratelimit` and `sink`, and pack the rest: `tar -C FOLDER -czf test/fixtures/states/VERSION.tar.gz .`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillState } from './contents.ts';

const [, , url = '', rootToken = '', folder = ''] = process.argv;
const facts = await fillState(url, rootToken);
writeFileSync(join(folder, 'facts.json'), JSON.stringify(facts, null, 2));
console.log(facts.contents);
