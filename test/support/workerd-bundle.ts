/**
 * Bundles the Worker and its objects once for the tests inside workerd. Without it, each test file loads some 800 modules one by one,
 * which is most of the processor time of these tests. Each file of the product becomes a stub that passes on its exports from the
 * bundle, so each module exists once, whether a test or the Worker imports it.
 */
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, resolve } from 'node:path';
import { build, type Plugin as EsbuildPlugin } from 'esbuild';
import type { Plugin } from 'vitest/config';
import { readRawConfig } from '../../dev/local/worker-options.ts';
import { TEST_MODULES } from './platform/bundle.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'dist/objects');
const BUNDLE = join(FOLDER, 'worker.js');

/** Makes workerd load the bundle as it is, without a transformation by Vite. */
export const bundleRules = () => [
  { type: 'ESModule' as const, include: ['**/dist/objects/worker.js'] },
  { type: 'CompiledWasm' as const, include: ['**/dist/objects/*.wasm'] },
];

/** Compiles modules of WebAssembly for tests in Node, where Vite would not load them. */
export const compiledWasm = (): Plugin => ({
  name: 'tessera:compiled-wasm',
  enforce: 'pre',
  load: (id) =>
    id.endsWith('.wasm')
      ? `export default new WebAssembly.Module(Buffer.from('${readFileSync(id).toString('base64')}', 'base64'));`
      : null,
});

/** Replaces modules by the text with which they are imported, as wrangler does with `alias`. */
const replaceModules = (replaced: Readonly<Record<string, string>>): EsbuildPlugin => ({
  name: 'tessera:replaced-modules',
  setup: ({ onResolve }) => {
    onResolve({ filter: /./ }, ({ path: asked }) => {
      const path = replaced[asked];
      return path === undefined ? undefined : { path: resolve(ROOT, path) };
    });
  },
});

/** Lets CommonJS packages require modules of Node, as wrangler does: workerd can only import them. */
const requireBuiltins: EsbuildPlugin = {
  name: 'tessera:required-builtins',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(?:node:)?[a-z_/]+$/ }, ({ path, kind }) =>
      kind === 'require-call' && isBuiltin(path)
        ? { path: path.replace(/^node:/, ''), namespace: 'builtin' }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `import builtin from 'node:${path}';\nmodule.exports = builtin;`,
    }));
  },
};

/** Reads the names that each file exports, without types. `export *` is not supported, and not used. */
async function readExports(files: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await build({
    entryPoints: [...files],
    absWorkingDir: ROOT,
    outdir: FOLDER,
    outbase: '.',
    write: false,
    metafile: true,
    format: 'esm',
    logLevel: 'silent',
  });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint = '', exports }) => [entryPoint, exports]));
}

/** @returns the text of the stub of each file, by the absolute path of the file */
async function bundle(): Promise<ReadonlyMap<string, string>> {
  const files = globSync('{workers,durable-objects}/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.d.ts'));
  const stubs = new Map<string, string>();
  const entry: string[] = [];
  for (const [file, names] of await readExports(files)) {
    const aliasOf = (name: string) => `m${stubs.size}_${name}`;
    entry.push(`export { ${names.map((name) => `${name} as ${aliasOf(name)}`).join(', ')} } from './${file}';`);
    const exports = names.map((name) => `${aliasOf(name)} as ${name}`).join(', ');
    stubs.set(join(ROOT, file), `export { ${exports} } from ${JSON.stringify(BUNDLE)};`);
  }
  const { alias } = (await readRawConfig()) as { readonly alias: Readonly<Record<string, string>> };
  await build({
    stdin: { contents: entry.join('\n'), resolveDir: ROOT, sourcefile: 'entry.ts', loader: 'ts' },
    absWorkingDir: ROOT,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    outfile: BUNDLE,
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['browser', 'module', 'main'],
    // Modules of WebAssembly are copied beside the bundle, under their hashes.
    loader: { '.sql': 'text', '.wasm': 'copy' },
    external: ['node:*', 'cloudflare:*'],
    logLevel: 'warning',
    plugins: [replaceModules({ ...alias, ...TEST_MODULES }), requireBuiltins],
  });
  return stubs;
}

/** Serves the stubs to tests. In watch mode it does nothing, because the bundle would become stale. */
export function bundledWorker(): Plugin {
  let isWatching = false;
  let stubs: Promise<ReadonlyMap<string, string>> | undefined;
  return {
    name: 'tessera:bundled-worker',
    enforce: 'pre',
    configureVitest: ({ vitest }) => {
      isWatching = vitest.config.watch;
    },
    async load(id) {
      const file = id.replace(/\?.*$/, '');
      if (isWatching || !/^\/(?:workers|durable-objects)\/.*\.ts$/.test(file.slice(ROOT.length))) return null;
      stubs ??= bundle();
      return (await stubs).get(file) ?? null;
    },
  };
}
