/** Fills a mailbox of a benchmark's server with thousands of messages. */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import type { LocalServer } from '../../dev/local/local-server.ts';

const FILLER = 'filler';

export interface Box {
  readonly token: string;
  readonly userId: string;
  /** Ids of messages that are a sample of the whole mailbox. */
  readonly ids: readonly string[];
  readonly count: number;
}

export async function fillMailbox(server: LocalServer, name: string, count: number): Promise<Box> {
  const registered = await fetch(`${server.url}/v1/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${name}@example.test`, password: 'long enough', name }),
  });
  const { token, user } = (await registered.json()) as { token: string; user: { user_id: string } };
  const startedAt = performance.now();
  const filler = await server.miniflare.getWorker(FILLER);
  const answer = await filler.fetch(`http://filler/?user_id=${user.user_id}&count=${count}`);
  if (answer.status !== 200) throw new Error(`Could not fill the mailbox: ${await answer.text()}`);
  const ids = (await answer.json()) as string[];
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`filled ${count} messages in ${Math.round(seconds)} s, ${Math.round(count / seconds)}/s`);
  return { token, userId: user.user_id, ids, count };
}

/** Makes the Miniflare options of the filler Worker. TypeScript types are stripped, because workerd runs JavaScript. */
export function createFiller(): Record<string, unknown> {
  const module = (name: string) => ({
    type: 'ESModule',
    path: join(import.meta.dirname, name),
    contents: stripTypeScriptTypes(readFileSync(join(import.meta.dirname, name), 'utf8')),
  });
  return {
    name: FILLER,
    modules: [module('mailbox-filler.ts'), module('mailbox-text.ts')],
    modulesRoot: import.meta.dirname,
    compatibilityDate: '2026-01-01',
    durableObjects: { MAILBOX: { className: 'Mailbox', scriptName: 'tessera' } },
  };
}
