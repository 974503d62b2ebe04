/** The Worker of the last release, as `npm run release` kept it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { RELEASES } from '../../../dev/generate/api-document.ts';
import { ROOT } from '../../../dev/local/build.ts';

/**
 * Unpacks it.
 * @param folder a folder that holds nothing else. @param [from, to] renames a call.
 * @returns the path of the script.
 */
export function unpackLast(folder: string, [from, to]: readonly [string, string] = ['', '']): string {
  const [last = ''] = Object.keys(JSON.parse(readFileSync(join(ROOT, 'migrations/releases.json'), 'utf8'))).slice(-1);
  const script = join(folder, 'index.js');
  const code = gunzipSync(readFileSync(join(RELEASES, last.slice(1), 'worker.js.gz'))).toString('utf8');
  writeFileSync(script, from === '' ? code : code.replaceAll(from, to));
  return script;
}
