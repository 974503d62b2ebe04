/**
 * What an isolate evaluates before it can answer, read from the graph of static imports: at its start, and with the first request of a
 * product. A module behind `import()` is evaluated when that is called.
 */
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { beforeAll, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const START = ['workers/index.ts'];
const firstRequestOf = (product: string) => [...START, 'workers/shared/compose-api.ts', `workers/${product}/api.ts`];

let inputs: Metafile['inputs'];
beforeAll(async () => {
  const { metafile } = await build({
    entryPoints: START,
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    outdir: 'dist',
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    loader: { '.sql': 'text', '.wasm': 'empty' },
    external: [
      'node:*',
      'cloudflare:*',
      'crypto',
      'net',
      'tls',
      'stream',
      'buffer',
      'events',
      'util',
      'dns',
      'os',
      'path',
      'url',
      'fs',
    ],
    logLevel: 'silent',
  });
  inputs = metafile.inputs;
}, 60_000);

/** Files and names of packages that these modules evaluate. */
function evaluatedBy(entries: readonly string[]): Set<string> {
  const files = new Set(entries);
  // A set also visits what is added meanwhile.
  for (const file of files)
    for (const { path, kind, external } of inputs[file]?.imports ?? [])
      if (kind !== 'dynamic-import' && !external) files.add(path);
  return new Set([...files].map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? file));
}

/** What only some requests need. */
const LATE = ['@modelcontextprotocol/server', '@simplewebauthn/server', 'imapflow', 'jose', 'oauth4webapi'];
/** What only mail needs. */
const OF_MAIL = ['nodemailer', 'postal-mime', 'sanitize-html', 'tldts'];

it('evaluates no API at the start, and no package that only some requests need', () => {
  const start = evaluatedBy(START);
  expect([...start].filter((file) => /^workers\/\w+\/api\.ts$/.test(file))).toEqual([]);
  expect([...LATE, ...OF_MAIL].filter((name) => start.has(name))).toEqual([]);
});

it.each([
  ['leaderboard', [...LATE, ...OF_MAIL]],
  ['storage', [...LATE, ...OF_MAIL]],
  ['mail', LATE],
])('evaluates no other product with the first request of %s', (product, unneeded) => {
  const start = evaluatedBy(START);
  const added = [...evaluatedBy(firstRequestOf(product))].filter((file) => !start.has(file));
  expect(added).toContain(`workers/${product}/api.ts`);
  const others = ['leaderboard', 'mail', 'storage'].filter((name) => name !== product);
  expect(added.filter((file) => others.some((name) => file.startsWith(`workers/${name}/`)))).toEqual([]);
  expect(unneeded.filter((name) => added.includes(name))).toEqual([]);
});
