/**
 * `npm run size`: builds the web app and prints the first load of each page. Fails if a page is over its limit.
 * `TESSERA_PREBUILT=1` measures the existing build.
 */
import { join } from 'node:path';
import { measurePages, printSizes } from './page-sizes.ts';

if (process.env.TESSERA_PREBUILT === '1') {
  const problems = printSizes(await measurePages(join(import.meta.dirname, '../dist/assets/_')));
  if (problems.length > 0) throw new Error(problems.join('\n'));
} else await import('./build.ts');
