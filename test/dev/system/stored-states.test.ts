/**
 * Tests that this version starts with the local state of earlier versions, and that everything in it is there. The states were made
 * by these versions themselves (`test/support/states/make-state.ts`).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startServer } from '../../support/server.ts';
import { readState, type StateFacts } from '../../support/states/contents.ts';

const STATES = join(import.meta.dirname, '../../fixtures/states');

it.each(['0.2.0', '6615b3f8'])('has everything that the state of %s holds', async (version) => {
  await using server = await startServer({ state: join(STATES, `${version}.tar.gz`), directories: 1 });
  const facts = JSON.parse(readFileSync(join(server.directory, 'facts.json'), 'utf8')) as StateFacts;
  // The board of the state is that of its month.
  const offsetSeconds = Math.round((facts.madeAt - Date.now()) / 1_000);
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String(offsetSeconds) }, 1);
  expect(await readState(server.url, facts, offsetSeconds * 1_000)).toEqual(facts.contents);
});
