/**
 * `npm run stack < lines-of-the-log`: prints the lines with files and lines of the source in their stacks. Check out the commit that
 * ran first; `commit` of `GET /v1/health` says it. `TESSERA_PREBUILT=1` uses the Worker that is built.
 */
import { text } from 'node:stream/consumers';
import { buildAll, WORKER_BUNDLE } from './build.ts';
import { createStackReader } from './original-stack.ts';

buildAll();
const lines = (await text(process.stdin)).replaceAll(String.raw`\n`, '\n');
process.stdout.write(createStackReader(WORKER_BUNDLE)(lines));
