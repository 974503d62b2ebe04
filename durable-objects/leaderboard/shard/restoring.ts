/** Restores a shard from its copy: every part is read and compared before a row is written, and the rows are compared afterwards. */

import {
  CopyError,
  type CopyManifest,
  type DataHead,
  type EventsHead,
  type SlotsHead,
  unpackPart,
} from '../domain/copy-file.ts';
import { EventPage } from '../domain/event-page.ts';
import { ABSENT, SLOTS_PER_PAGE, sumKeys } from '../domain/slot-keys.ts';
import type { ShardAddress } from '../protocol.ts';
import { openCopy } from './shard-copy.ts';
import type { ShardStore } from './store.ts';

/**
 * Replaces the rows of a shard by those of its newest copy. The caller lets nothing else use the store meanwhile.
 * @param call `logged`: number of the last commit that the shard has. `begin`: called before the first row is removed.
 * @throws CopyError if the copy is missing, not whole or older than the shard. The shard then is as before.
 */
export async function restoreCopy(
  env: Env,
  store: ShardStore,
  address: ShardAddress,
  { logged, begin }: { readonly logged: number; readonly begin: () => void },
): Promise<CopyManifest> {
  const { manifest, readPart } = await openCopy(env, address);
  const { parts, events, data = [] } = manifest;
  if (logged >= manifest.logged)
    throw new CopyError('copy_older', `the shard has commit ${logged}, and the copy has ${manifest.logged}`);
  for (const part of [...parts, ...events, ...data]) await readPart(part);
  begin();
  store.clear();
  for (const part of parts) writeSlots(store, await readPart(part), manifest.sealedAt !== null);
  for (const part of events) {
    const { head, columns } = unpackPart<EventsHead>(await readPart(part));
    const [slots, records] = columns as [Uint8Array, Uint8Array];
    store.writeEventPage(head.id, head.at, EventPage.from({ slots, records, userNames: head.userNames }));
  }
  for (const part of data) {
    const { rows } = unpackPart<DataHead>(await readPart(part)).head;
    // A player who was erased while the copy was written has no row.
    const known = new Set(store.readPlayers(rows.map(({ slot }) => slot)).map(({ slot }) => slot));
    store.facts.writeData(rows.filter(({ slot }) => known.has(slot)));
  }
  const restored = sumKeys(Array.from(store.readScorePages(), ([, page]) => page));
  // A player who was erased while the copy was written is in the keys only.
  if (restored.players > manifest.players)
    throw new CopyError('copy_damaged', 'the restored rows differ from the copy');
  store.restoreBoard(manifest);
  return manifest;
}

function writeSlots(store: ShardStore, bytes: Uint8Array, isSealed: boolean): void {
  const { head, columns } = unpackPart<SlotsHead>(bytes);
  store.writePlayers(head.players);
  store.facts.writeDayPoints(head.days);
  store.facts.writeLastPosts(head.posts ?? []);
  for (const move of head.hidden) store.hide(move);
  const named = new Set(head.players.map(({ slot }) => slot));
  for (const [at, column] of columns.entries()) {
    const number = head.firstPage + at;
    const page = new Float64Array(column.buffer);
    // In the list of a sealed shard, the place of an erased player stays.
    for (let i = 0; i < SLOTS_PER_PAGE && !isSealed; i++)
      if (!named.has(number * SLOTS_PER_PAGE + i)) page[i * 2] = ABSENT;
    store.writeScorePage(number, page);
  }
}
