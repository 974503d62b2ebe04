/**
 * Finds bytes of mail that no row names: what a crash left between R2 and the row. `collectors/orphan-rounds.ts` deletes
 * them. Walks the keys of the first location, since all locations hold the same.
 *
 * Only a tombstone in DIRECTORY gives up the bytes of a missing mailbox; without one they stay. A mailbox is believed only
 * about objects that were stored after it was created. Objects younger than a day are left alone, because their row may not
 * be written yet. `errors/` belongs to the error queue in DIRECTORY and is left alone.
 */
import { type OrphanReport, type OrphanSource, collectOrphans as runRound } from '../collectors/orphan-rounds.ts';
import { type Candidate, createCollectorStore, type FoundOrphan } from '../collectors/store.ts';
import { logError } from '../shared/log.ts';
import { createAccountStore } from './account-store.ts';
import { listLocations } from './blobs.ts';
import { openMailbox } from './mailbox.ts';
import { findNamespaceDoubt, takeOverNamespace } from './namespace-owner.ts';

const PREFIX = 'mail/';
const GRACE_MS = 24 * 3_600_000;
/** R2's largest page is 1,000 keys, so a run scans 20,000. A run per minute scans 28.8 million keys a day. */
const PAGES_PER_RUN = 20;
/** Each is a call of a mailbox; an invocation may make 10,000 subrequests. */
const MAILBOXES_PER_RUN = 2_000;
const MAILBOXES_AT_ONCE = 4;

/** One step of a round. Does nothing but raise an alarm while the owner of the bytes is in doubt. */
export async function collectOrphans(env: Env, now: number): Promise<OrphanReport> {
  const store = createCollectorStore(env.DIRECTORY, 'mail');
  if ((await store.read()).takeOver === 1) {
    await takeOverNamespace(env);
    await store.endTakeOver();
  }
  return runRound(store, createSource(env, now), now);
}

function createSource(env: Env, now: number): OrphanSource {
  return {
    findDoubt: () => findNamespaceDoubt(env),
    scan: (cursor) => scanKeys(env, cursor, now),
    findOrphans: (keys) => findOrphans(env, keys),
    async remove(keys, where) {
      const [first, ...others] = listLocations(env);
      if (keys.length === 0 || !first) return;
      await Promise.all((where === 'first' ? [first] : others).map((bucket) => bucket.delete([...keys])));
    },
  };
}

async function scanKeys(env: Env, cursor: string, now: number) {
  const [bucket] = listLocations(env);
  if (!bucket) throw new Error('no location is bound');
  const keys: Candidate[] = [];
  const users = new Set<string>();
  let scanned = 0;
  let next: string | null = cursor;
  for (let page = 0; page < PAGES_PER_RUN && next !== null && users.size < MAILBOXES_PER_RUN; page++) {
    const listed: R2Objects = await bucket.list({ prefix: PREFIX, ...(next === '' ? {} : { startAfter: next }) });
    scanned += listed.objects.length;
    for (const { key, uploaded } of listed.objects) {
      if (now - uploaded.getTime() <= GRACE_MS || /^mail\/[^/]+\/errors\//.test(key)) continue;
      keys.push({ key, storedAt: uploaded.getTime() });
      users.add(userOf(key));
    }
    next = listed.truncated ? (listed.objects.at(-1)?.key ?? null) : null;
  }
  return { keys, scanned, next };
}

const userOf = (key: string): string => key.split('/')[1] ?? '';

async function findOrphans(env: Env, keys: readonly Candidate[]) {
  const orphans: FoundOrphan[] = [];
  const unknown: string[] = [];
  const withoutMailbox = new Map<string, readonly Candidate[]>();
  const groups = [...Map.groupBy(keys, ({ key }) => userOf(key))];
  const askNext = async (): Promise<void> => {
    for (let group = groups.pop(); group !== undefined; group = groups.pop()) {
      const [userId, own] = group;
      try {
        const answer = await openMailbox(env, userId).listUnheld(own.map(({ key }) => key));
        if (!answer.ok) {
          withoutMailbox.set(userId, own);
          continue;
        }
        const unheld = new Set(answer.value.keys);
        const { createdAt } = answer.value;
        for (const each of own)
          if (unheld.has(each.key) && each.storedAt > createdAt) orphans.push({ ...each, isGivenUp: false });
      } catch (error) {
        logError('mailbox_not_asked', error);
        unknown.push(...own.map(({ key }) => key));
      }
    }
  };
  await Promise.all(Array.from({ length: MAILBOXES_AT_ONCE }, askNext));
  const erased = await createAccountStore(env.DIRECTORY).listErased([...withoutMailbox.keys()]);
  for (const userId of erased)
    orphans.push(...(withoutMailbox.get(userId) ?? []).map((each) => ({ ...each, isGivenUp: true })));
  return { orphans, unknown };
}
