/**
 * A second Worker, for calls that must not warm the measured one. It simulates no distances. It reports its writes to DIRECTORY, so
 * that the replicas of the measured Worker receive them.
 */
import real from '../../workers/index.ts';
import { wireDatabase } from './d1-wire.ts';
import { REPLICATE_PATH } from './replicas.ts';

export * from '../../workers/index.ts';

const wired = new WeakSet<object>();

function reportWrites(env: Env & { readonly TESSERA: Fetcher }): void {
  if (wired.has(env)) return;
  wired.add(env);
  wireDatabase(env.DIRECTORY, async ({ run, write, readResult }) => {
    const response = await run();
    if ((await readResult(response)).rowsWritten > 0) {
      await env.TESSERA.fetch(`http://tessera${REPLICATE_PATH}`, { method: 'POST', body: JSON.stringify(write) });
    }
    return response;
  });
}

export default {
  ...real,
  fetch(request, env, ctx) {
    reportWrites(env as Env & { readonly TESSERA: Fetcher });
    return real.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
