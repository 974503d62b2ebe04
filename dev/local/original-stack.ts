/**
 * Says the files and lines of the source in stacks of the Worker. Its script is minified (wrangler.toml), so a stack in its log has
 * short names and positions in that script.
 */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { ROOT } from './build.ts';

/** Position in the script, with or without a folder: `index.js:12:3456`. */
const POSITION = /(?:[\w./:-]*\/)?\bindex\.js:(\d+):(\d+)/g;

/**
 * Creates a function that replaces positions in the script by positions in the source. It reads the source map when it first finds
 * a position, because that takes a second.
 * @param bundle folder of the script, which must be built from the same commit.
 */
export function createStackReader(bundle: string): (text: string) => string {
  let map: SourceMap | null = null;
  return (text) =>
    text.replace(POSITION, (position, line: string, column: string) => {
      map ??= new SourceMap(JSON.parse(readFileSync(join(bundle, 'index.js.map'), 'utf8')));
      const origin = map.findOrigin(Number(line), Number(column));
      if (!('fileName' in origin)) return position;
      const file = relative(ROOT, resolve(bundle, origin.fileName));
      return `${file}:${origin.lineNumber}:${origin.columnNumber}`;
    });
}
