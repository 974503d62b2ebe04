/** Size of the bundled Worker, which every deployment uploads and every new isolate loads. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/**
 * Limit of the script in bytes, gzipped. Most of it is libraries. Before raising this, look for parts of them that no request needs:
 * `wrangler deploy --dry-run --metafile` says what the script has, and `[alias]` of wrangler.toml leaves parts out.
 */
const WORKER_GZIP_BYTES_MAX = 1_390_000;

/** @param folder what wrangler bundled. @returns a sentence if the script is over its limit, or null. */
export function findSizeProblem(folder: string): string | null {
  const bytes = gzipSync(readFileSync(join(folder, 'index.js'))).length;
  if (bytes <= WORKER_GZIP_BYTES_MAX) return null;
  return `The Worker has ${bytes} bytes (gzip). The limit in dev/worker-size.ts is ${WORKER_GZIP_BYTES_MAX}.`;
}
