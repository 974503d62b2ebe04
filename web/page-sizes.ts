/** Measures the script that each built page loads before its first paint, and checks it against the limits. */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';

/** Limit of Brotli bytes of the script that a page loads first. */
export const FIRST_LOAD_BYTES_MAX = 90_000;
/** Limit of Brotli bytes that the compose window adds to the mail page. */
export const COMPOSER_BYTES_MAX = 60_000;
const COMPOSER = 'mail.html, composer';

export interface Size {
  name: string;
  brotliBytes: number;
  rawBytes: number;
  brotliBytesMax: number;
}

const scriptsIn = (html: string): string[] =>
  [...html.matchAll(/(?:src|href)="\/_\/(assets\/[^"]+\.js)"/g)].map((match) => match[1] ?? '');

async function sum(outDir: string, files: Iterable<string>): Promise<{ brotliBytes: number; rawBytes: number }> {
  const total = { brotliBytes: 0, rawBytes: 0 };
  for (const file of files) {
    const bytes = await readFile(join(outDir, file));
    total.rawBytes += bytes.length;
    total.brotliBytes += brotliCompressSync(bytes).length;
  }
  return total;
}

/** Finds the chunk of this name and the chunks that it imports. Vite adds a hash of 8 characters to the name. */
async function withImports(outDir: string, name: string): Promise<Set<string>> {
  const files = new Set<string>();
  const waiting = globSync(`assets/${name}-????????.js`, { cwd: outDir });
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    const text = await readFile(join(outDir, file), 'utf8');
    for (const match of text.matchAll(/\bfrom\s*["']\.\/([^"']+\.js)["']|\bimport\s*["']\.\/([^"']+\.js)["']/g))
      waiting.push(`assets/${match[1] ?? match[2]}`);
  }
  return files;
}

/**
 * Measures each page (its entry and the entry's static imports, which Vite preloads) and the compose window.
 * @param outDir the directory of the built pages.
 */
export async function measurePages(outDir: string): Promise<Size[]> {
  const sizes: Size[] = [];
  for (const page of globSync('**/*.html', { cwd: outDir }).sort()) {
    const files = new Set(scriptsIn(await readFile(join(outDir, page), 'utf8')));
    sizes.push({ name: page, ...(await sum(outDir, files)), brotliBytesMax: FIRST_LOAD_BYTES_MAX });
    if (basename(page) !== 'mail.html') continue;
    const composer = [...(await withImports(outDir, 'compose'))].filter((file) => !files.has(file));
    if (composer.length === 0) throw new Error('The compose window has no chunk of its own.');
    sizes.push({ name: COMPOSER, ...(await sum(outDir, composer)), brotliBytesMax: COMPOSER_BYTES_MAX });
  }
  if (!sizes.some(({ name }) => name === COMPOSER)) throw new Error('The build has no page mail.html to measure.');
  return sizes;
}

const toKilobytes = (bytes: number): string => (bytes / 1000).toFixed(1).padStart(6);

/** Prints the sizes. @returns the sizes over their limits, as sentences. */
export function printSizes(sizes: readonly Size[]): string[] {
  console.log(`${'first load'.padEnd(26)} Brotli KB    raw KB`);
  for (const { name, brotliBytes, rawBytes } of sizes)
    console.log(`${name.padEnd(26)} ${toKilobytes(brotliBytes)}    ${toKilobytes(rawBytes)}`);
  return sizes
    .filter(({ brotliBytes, brotliBytesMax }) => brotliBytes > brotliBytesMax)
    .map(
      ({ name, brotliBytes, brotliBytesMax }) =>
        `${name} has ${brotliBytes} bytes of script (Brotli). The limit is ${brotliBytesMax}.`,
    );
}
