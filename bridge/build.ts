/** Builds the bridge into one file that runs with nothing installed: `dist/bridge.mjs`, for Node 20 or later. */
import { join } from 'node:path';
import { build } from 'esbuild';

const BRIDGE_BUNDLE = join(import.meta.dirname, '../dist/bridge.mjs');

export async function buildBridge(outfile = BRIDGE_BUNDLE): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, 'main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    legalComments: 'inline',
    // Packages in the older module format call `require` for the modules of Node.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    external: ['bufferutil', 'utf-8-validate'],
    logLevel: 'warning',
  });
}

if (import.meta.main) await buildBridge();
