/**
 * Removes mail's bytes that no row names: what a crash left between R2 and the row. A page of keys at a time, in key order, round
 * and round; where it stands is kept in R2 too, and losing that only begins the round anew.
 *
 * By design only what is older than a day: whatever is under way now has its row long before. A mailbox that cannot be asked
 * keeps everything. Requests of the error queue (`errors/`) are DIRECTORY's and are left alone.
 */
import { logError, logInfo } from '../shared/log.ts';
import { deleteBlobs, listLocations } from './blobs.ts';
import { openMailbox } from './mailbox.ts';

const PREFIX = 'mail/';
const CURSOR_KEY = 'mail-orphans/cursor';
const KEYS_PER_PAGE = 1_000;
const GRACE_MS = 24 * 3_600_000;

export interface OrphanReport {
  lookedAt: number;
  removed: number;
  /** True when the last key was reached: the next page begins anew. */
  isRoundOver: boolean;
}

/** One page. Each location is walked by the first one's keys, since all hold the same; a location that has more keeps it. */
export async function collectOrphans(env: Env, now: number): Promise<OrphanReport> {
  const [bucket] = listLocations(env);
  if (!bucket) throw new Error('no location is bound');
  const startAfter = (await (await bucket.get(CURSOR_KEY))?.text()) ?? '';
  const page = await bucket.list({ prefix: PREFIX, limit: KEYS_PER_PAGE, ...(startAfter ? { startAfter } : {}) });
  const old = page.objects.filter(
    ({ key, uploaded }) => now - uploaded.getTime() > GRACE_MS && !/^mail\/[^/]+\/errors\//.test(key),
  );
  let removed = 0;
  for (const [userId, keys] of groupByUser(old.map(({ key }) => key))) removed += await collectOf(env, userId, keys);
  await bucket.put(CURSOR_KEY, page.truncated ? (page.objects.at(-1)?.key ?? '') : '');
  if (removed > 0) logInfo('mail_orphans', { looked_at: page.objects.length, removed });
  return { lookedAt: page.objects.length, removed, isRoundOver: !page.truncated };
}

async function collectOf(env: Env, userId: string, keys: readonly string[]): Promise<number> {
  try {
    const unheld = await openMailbox(env, userId).listUnheld(keys);
    // An account that was erased took its bytes with it; what is still there came too late.
    const orphans = unheld.ok ? unheld.value : keys;
    await deleteBlobs(env, orphans);
    return orphans.length;
  } catch (error) {
    logError('orphans_not_collected', error);
    return 0;
  }
}

function groupByUser(keys: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const key of keys) {
    const userId = key.split('/')[1] ?? '';
    groups.set(userId, [...(groups.get(userId) ?? []), key]);
  }
  return groups;
}
