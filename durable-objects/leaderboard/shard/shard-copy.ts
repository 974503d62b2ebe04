/**
 * Writes the copy of a shard to every location. The copy is exact as of one moment: keys and events are those of a checkpoint. Parts
 * are named by their hash, so those that did not change are not written again. The manifest is written last; then the files that it does not name
 * are deleted.
 *
 * By design: a shard overwrites only its own earlier copies. One that has lost its rows leaves the copy of its former life.
 */
import { locationsOf, readWhole, writeTo } from '../../../workers/leaderboard/records/archive-files.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import {
  CopyError,
  type CopyManifest,
  type CopyPart,
  copyPrefix,
  type DataHead,
  type EventsHead,
  hashPart,
  manifestName,
  PAGES_PER_PART,
  type PartContent,
  packPart,
  partName,
  type SlotsHead,
} from '../domain/copy-file.ts';
import type { Move } from '../domain/player-rows.ts';
import { SLOTS_PER_PAGE, sumKeys } from '../domain/slot-keys.ts';
import type { ShardAddress } from '../protocol.ts';
import type { ShardStore } from './store.ts';

/** What a copy has, as of one moment. Names are read later: they belong to players, not to moments. */
export interface ShardSnapshot extends Pick<CopyManifest, 'copy' | 'logged' | 'at' | 'sealedAt' | 'rules'> {
  readonly address: ShardAddress;
  readonly keys: readonly (readonly [number: number, page: Float64Array])[];
  readonly hidden: readonly Move[];
  /** Ids of the pages of events. */
  readonly events: readonly number[];
}

interface Target {
  readonly bucket: R2Bucket;
  /** Names of the parts that the location has. */
  readonly known: ReadonlySet<string>;
}

/**
 * Writes a copy.
 * @param isGone whether the shard was erased meanwhile
 * @throws CopyError `copy_older` if a location has a copy of another life of the shard. @throws if a location is not written.
 */
export async function writeCopy(
  env: Env,
  store: ShardStore,
  snapshot: ShardSnapshot,
  isGone: () => boolean,
): Promise<void> {
  const prefix = copyPrefix(snapshot.address);
  let failure: unknown;
  let targets: Target[] = [];
  for (const bucket of locationsOf(env)) targets.push({ bucket, known: await checkLocation(bucket, prefix, snapshot) });
  // Written only after the check, so that a shard which was put back does not count up to the number of the copy.
  store.writeCopies(snapshot.copy);
  /** Writes to each location. One that fails is left as it is. */
  const toEach = async (write: (target: Target) => Promise<unknown>) => {
    if (isGone()) throw new Error('the shard was erased');
    const outcomes = await Promise.allSettled(targets.map(write));
    for (const outcome of outcomes) if (outcome.status === 'rejected') failure = outcome.reason;
    targets = targets.filter((_, i) => outcomes[i]?.status === 'fulfilled');
    if (targets.length === 0) throw failure;
  };
  const writePart = async <T>(kind: string, content: PartContent<T>): Promise<CopyPart> => {
    const bytes = packPart(content);
    const sha256 = await hashPart(bytes);
    const name = partName(kind, sha256);
    await toEach(async ({ bucket, known }) => {
      if (!known.has(name)) await bucket.put(prefix + name, bytes, { sha256 });
    });
    return { name, bytes: bytes.length, sha256 };
  };
  const [parts, events]: [CopyPart[], CopyPart[]] = [[], []];
  for (const content of toSlotParts(store, snapshot))
    parts.push(await writePart(`slots-${content.head.firstPage}`, content));
  for (const id of snapshot.events) {
    const stored = store.readEventPage(id);
    if (stored === null) continue;
    const { slots, records, userNames } = stored.page;
    const head: EventsHead = { id, at: stored.at, userNames };
    events.push(await writePart(`events-${id}`, { head, columns: [slots, records] }));
  }
  const data: CopyPart[] = [];
  for (const content of toDataParts(store, snapshot)) data.push(await writePart(`data-${content.head.page}`, content));
  const { address, copy, logged, at, sealedAt, rules } = snapshot;
  const totals = sumKeys(snapshot.keys.map(([, page]) => page));
  const manifest: CopyManifest = { ...address, copy, logged, at, sealedAt, rules, ...totals, parts, events, data };
  await toEach(({ bucket }) => writeTo(bucket, prefix + manifestName, manifest));
  const named = new Set(
    [manifestName, ...[...parts, ...events, ...data].map(({ name }) => name)].map((name) => prefix + name),
  );
  await toEach(({ bucket }) => removeOthers(bucket, prefix, named));
  if (failure !== undefined) throw failure;
}

/** @returns names of the parts that a location has. @throws CopyError if its copy is not an earlier one of this life of the shard. */
async function checkLocation(bucket: R2Bucket, prefix: string, { copy }: ShardSnapshot): Promise<Set<string>> {
  const manifest = (await readWhole<CopyManifest>(bucket, prefix + manifestName))?.value;
  const isFirst = copy === 1;
  if (manifest === undefined) {
    if (isFirst && (await bucket.head(prefix + manifestName)) !== null)
      throw new CopyError('copy_damaged', `${prefix}${manifestName} is damaged, and the shard has no copy of its own`);
    return new Set();
  }
  if (manifest.copy >= copy)
    throw new CopyError('copy_older', `${prefix} has copy ${manifest.copy}, and the shard would write copy ${copy}`);
  return new Set([...manifest.parts, ...manifest.events, ...(manifest.data ?? [])].map(({ name }) => name));
}

async function removeOthers(bucket: R2Bucket, prefix: string, named: ReadonlySet<string>): Promise<void> {
  let cursor: string | undefined;
  do {
    const listed: R2Objects = await bucket.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
    const others = listed.objects.map(({ key }) => key).filter((key) => !named.has(key));
    if (others.length > 0) await bucket.delete(others);
    cursor = listed.truncated ? listed.cursor : undefined;
  } while (cursor !== undefined);
}

function* toSlotParts(store: ShardStore, { keys, hidden }: ShardSnapshot): Generator<PartContent<SlotsHead>> {
  const byPart = Map.groupBy(keys, ([number]) => Math.floor(number / PAGES_PER_PART));
  for (const [part, pages] of byPart) {
    const firstPage = part * PAGES_PER_PART;
    const [first, last] = [firstPage * SLOTS_PER_PAGE, (firstPage + PAGES_PER_PART) * SLOTS_PER_PAGE - 1];
    const players = store.readSlots(first, last);
    const slots = players.map(({ slot }) => slot);
    const { facts } = store;
    const rows = { days: facts.readDayPoints(slots), posts: facts.readLastPosts(slots) };
    const own = hidden.filter(({ slot }) => slot >= first && slot <= last);
    const columns = pages.map(([, page]) => new Uint8Array(page.buffer, page.byteOffset, page.byteLength));
    yield { head: { firstPage, players, hidden: own, ...rows }, columns };
  }
}

/** Parts with the data of entries. Data is up to 1 KB, so each part has only the players of one page. */
function* toDataParts(store: ShardStore, { keys }: ShardSnapshot): Generator<PartContent<DataHead>> {
  for (const [page] of keys) {
    const rows = store.facts.readDataBetween(page * SLOTS_PER_PAGE, (page + 1) * SLOTS_PER_PAGE - 1);
    if (rows.length > 0) yield { head: { page, rows }, columns: [] };
  }
}

/** Opens the newest copy of a shard. @throws CopyError if no location has one. */
export async function openCopy(env: Env, address: ShardAddress) {
  const prefix = copyPrefix(address);
  const key = prefix + manifestName;
  const found = await Promise.all(locationsOf(env).map((bucket) => readWhole<CopyManifest>(bucket, key)));
  const manifests = found.flatMap((each) => (each === null ? [] : [each.value]));
  const [manifest] = manifests.toSorted((a, b) => b.copy - a.copy);
  if (manifest === undefined) {
    const isThere = await Promise.all(locationsOf(env).map((bucket) => bucket.head(key)));
    const kind = isThere.some((object) => object !== null) ? 'copy_damaged' : 'copy_missing';
    throw new CopyError(kind, `no location has an intact ${key}`);
  }
  /** Reads a part from the first location with intact bytes. @throws CopyError if there is none. */
  const readPart = async ({ name, bytes: length, sha256 }: CopyPart): Promise<Uint8Array> => {
    let isDamaged = false;
    for (const bucket of locationsOf(env)) {
      const object = await bucket.get(prefix + name);
      if (object === null) continue;
      const bytes = new Uint8Array(await object.arrayBuffer());
      if (bytes.length === length && (await hashPart(bytes)) === sha256) return bytes;
      isDamaged = true;
      logError('leaderboard_copy_damaged', new Error('the bytes differ from their hash'), { key: prefix + name });
    }
    throw new CopyError(isDamaged ? 'copy_damaged' : 'copy_part_missing', `no location has an intact ${prefix}${name}`);
  };
  return { manifest, readPart };
}
