/**
 * Moves a season that 0.2.0 archived into its shards. Every step is stored, so the work continues where it was cut:
 * 1. The files of standings are compared with the manifest: order, places, ranks. They tell what each shard must have.
 * 2. For each shard, its files of look-ups become a copy in every location. If the copy has what it must have, the shard is restored from
 *    it and sealed.
 * 3. The counts of the shards are compared with the ranks of the archive. Then the archive is closed to changes, and DIRECTORY names
 *    it no more.
 *
 * By design: until the last step, reads and changes go to the archive. A change of it makes the import begin again.
 */
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { compareStandings } from '../../../workers/leaderboard/domain/standing.ts';
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import {
  type ArchivedEntry,
  type ArchiveManifest,
  fromArchivedEntry,
  locationsOf,
  manifestKey,
  readText,
  readWhole,
  writeTo,
} from '../../../workers/leaderboard/records/archive-files.ts';
import { type CopyManifest, copyPrefix, hashPart, manifestName, packPart, partName } from '../domain/copy-file.ts';
import { sumKeys } from '../domain/slot-keys.ts';
import type { ShardAddress } from '../protocol.ts';
import { addRow, isListed, NO_ROWS, PartFiller, type RowTally } from './archived-rows.ts';
import type { SeasonCounts } from './season-counts.ts';
import type { ArchivedSeason, ImportProgress, SeasonObjectStore, ShardImport } from './store.ts';

/** Files that are read at the same time. Each has up to half a megabyte. */
const FILES_AT_ONCE = 8;
/** Limits of one call, so that it stays below the platform's limits of time and requests. */
const CALL_MS = 5_000;
const STEPS_MAX = 40;
/** Number of the last commit of a copy. It is higher than that of any shard. Each revision of the archive adds one. */
const LOGGED = 2 ** 40;

const firstOf = (shard: number): ShardImport => ({ shard, files: 0, rows: 0, parts: [], read: NO_ROWS, sum: '0' });

/** Thrown if the archive contradicts itself, or if the shards differ from it. */
export class ImportError extends Error {}

export class ArchiveImport {
  readonly #env: Env;
  readonly #store: SeasonObjectStore;
  readonly #archived: ArchivedSeason;
  readonly #counts: SeasonCounts;

  constructor(env: Env, store: SeasonObjectStore, archived: ArchivedSeason, counts: SeasonCounts) {
    this.#env = env;
    this.#store = store;
    this.#archived = archived;
    this.#counts = counts;
  }

  /**
   * Continues the import for some seconds.
   * @returns whether the shards have the season, and the archive takes no more changes. @throws ImportError if it cannot be imported.
   */
  async advance(now: number): Promise<boolean> {
    const manifest = await this.#readManifest();
    const endsAt = Date.now() + CALL_MS;
    for (let steps = 0; steps < STEPS_MAX && Date.now() < endsAt; steps++) {
      const known = this.#store.readImport();
      const progress = known?.revision === revisionOf(manifest) ? known : this.#begin(manifest);
      if (progress.list.files < manifest.standings.length) await this.#list(manifest, progress);
      else if (progress.shard.shard < manifest.shards) await this.#fillShard(manifest, progress);
      else {
        this.#compare(manifest, progress);
        return await this.#closeArchive(manifest, now);
      }
    }
    return false;
  }

  /** Reads the newest manifest, and writes it where a change was cut. */
  async #readManifest(): Promise<ArchiveManifest> {
    const key = manifestKey(this.#archived.archive);
    const locations = locationsOf(this.#env);
    const copies = await Promise.all(locations.map((bucket) => readWhole<ArchiveManifest>(bucket, key)));
    const newest = copies.reduce((a, b) => ((b?.value.revision ?? -1) > (a?.value.revision ?? -1) ? b : a));
    if (newest === null) throw new ImportError(`no location has an intact ${key}`);
    const behind = locations.filter((_, i) => copies[i]?.value.revision !== newest.value.revision);
    for (const bucket of behind) await writeTo(bucket, key, newest.value);
    return newest.value;
  }

  #begin(manifest: ArchiveManifest): ImportProgress {
    this.#store.forgetImport();
    const expected = Array.from({ length: manifest.shards }, () => NO_ROWS);
    const list = { files: 0, players: 0, last: null };
    return { revision: revisionOf(manifest), list, expected, erased: 0, sum: '0', shard: firstOf(0) };
  }

  async #read(name: string): Promise<ArchivedEntry[]> {
    const key = `${this.#archived.archive}/${name}`;
    const text = await readText(this.#env, key);
    if (text === null) throw new ImportError(`no location has an intact ${key}`);
    return JSON.parse(text);
  }

  /** Compares the next files of standings with the manifest, and adds their players to what the shards must have. */
  async #list({ standings, shards }: ArchiveManifest, progress: ImportProgress): Promise<void> {
    const files = standings.slice(progress.list.files, progress.list.files + FILES_AT_ONCE);
    const contents = await Promise.all(files.map(({ name }) => this.#read(name)));
    let { players, last } = progress.list;
    let { erased } = progress;
    const expected = [...progress.expected];
    for (const [i, file] of files.entries()) {
      const places: number[] = [];
      for (const [at, row] of (contents[i] as ArchivedEntry[]).entries()) {
        const { userId, score, reached } = fromArchivedEntry(row);
        const key = { userId, score, reached };
        const rank = score === last?.score ? last.rank : players + 1;
        if (at === 0 && (file.place !== players || file.rank !== rank || compareStandings(file.first, key) !== 0))
          throw new ImportError(`${file.name} does not begin as the manifest says`);
        if (userId !== '' && last !== null && last.userId !== '' && compareStandings(last, key) >= 0)
          throw new ImportError(`${file.name} is out of order`);
        last = { ...key, rank };
        players++;
        const shard = shardOf(userId, shards);
        if (isListed(row)) expected[shard] = addRow(expected[shard] as RowTally, row);
        else places.push(score, reached);
      }
      erased += places.length / 2;
      if (places.length > 0) this.#store.writePlaces(progress.list.files + i, places);
    }
    const list = { files: progress.list.files + files.length, players, last };
    this.#store.writeImport({ ...progress, list, expected, erased });
  }

  /** Writes the next part of a shard's copy. After the last part, restores the shard from the copy. */
  async #fillShard(manifest: ArchiveManifest, progress: ImportProgress): Promise<void> {
    const { shard } = progress.shard;
    const lookups = manifest.lookups[shard] ?? [];
    // The places of erased players are in the first shard, before its players.
    const places = shard === 0 ? this.#store.readPlaces() : [];
    const readFile = async (file: number): Promise<readonly ArchivedEntry[]> => {
      const erased = places[file];
      return erased === undefined ? this.#read(lookups[file - places.length]?.name ?? '') : toRows(erased);
    };
    const total = places.length + lookups.length;
    if (progress.shard.files < total) {
      const next = await this.#writePart(progress.shard, total, readFile);
      this.#store.writeImport({ ...progress, shard: next });
      return;
    }
    await this.#restore(manifest.sealedAt, progress);
    const sum = String(BigInt(progress.sum) + BigInt(progress.shard.sum));
    this.#store.writeImport({ ...progress, sum, shard: firstOf(shard + 1) });
  }

  async #writePart(
    from: ShardImport,
    total: number,
    readFile: (file: number) => Promise<readonly ArchivedEntry[]>,
  ): Promise<ShardImport> {
    const filler = new PartFiller(from.parts.length);
    let { files, rows, read } = from;
    while (files < total && !filler.isFull) {
      const ahead = Math.min(total, files + FILES_AT_ONCE);
      const contents = await Promise.all(Array.from({ length: ahead - files }, (_, i) => readFile(files + i)));
      for (const content of contents) {
        for (; rows < content.length && !filler.isFull; rows++) {
          const row = content[rows] as ArchivedEntry;
          filler.add(row);
          if (isListed(row)) read = addRow(read, row);
        }
        if (rows < content.length) break;
        files++;
        rows = 0;
      }
    }
    const part = filler.toPart();
    const bytes = packPart(part);
    const sha256 = await hashPart(bytes);
    const name = partName(`slots-${part.head.firstPage}`, sha256);
    const key = copyPrefix({ season: this.#archived.season, shard: from.shard }) + name;
    for (const bucket of locationsOf(this.#env)) await bucket.put(key, bytes, { sha256 });
    const sum = String(BigInt(from.sum) + BigInt(sumKeys(filler.pages).sum));
    return { ...from, files, rows, read, sum, parts: [...from.parts, { name, bytes: bytes.length, sha256 }] };
  }

  /** Restores a shard from the copy that was written, if that has what the standings have. */
  async #restore(sealedAt: number, progress: ImportProgress): Promise<void> {
    const { season, shards } = this.#archived;
    const { shard, parts, read, sum } = progress.shard;
    const address: ShardAddress = { season, shard, shards };
    const expected = progress.expected[shard] as RowTally;
    if (read.players !== expected.players || read.digest !== expected.digest)
      throw new ImportError(`the look-ups of shard ${shard} have other players than the standings`);
    const players = read.players + (shard === 0 ? progress.erased : 0);
    const prefix = copyPrefix(address);
    const known = await Promise.all(
      locationsOf(this.#env).map((bucket) => readWhole<CopyManifest>(bucket, prefix + manifestName)),
    );
    const copy = 1 + Math.max(0, ...known.map((each) => each?.value.copy ?? 0));
    const totals = { players, sum, parts, events: [] };
    const manifest: CopyManifest = {
      ...{ ...address, copy, logged: LOGGED + progress.revision, at: sealedAt, sealedAt, rules: null },
      ...totals,
    };
    for (const bucket of locationsOf(this.#env)) await writeTo(bucket, prefix + manifestName, manifest);
    const stub = shardStub(this.#env, address);
    const restored = await stub.restore(address);
    // After a cut, the shard has the rows of this revision already.
    if (!restored.ok && restored.error.kind !== 'copy_older') throw new ImportError(restored.error.detail);
    const { players: sealed, report } = await stub.seal(address);
    if (sealed !== players) throw new ImportError(`shard ${shard} has ${sealed} players of ${players}`);
    this.#counts.takeSealed(report);
  }

  /** Compares players, scores and ranks of all shards with the archive. */
  #compare(manifest: ArchiveManifest, { list, sum }: ImportProgress): void {
    const { players, standings } = manifest;
    const { merged } = this.#counts;
    if (merged.players !== players || list.players !== players)
      throw new ImportError(`the shards have ${merged.players} players of ${players}`);
    // The sum of the scores is that of the season's end. Corrections do not change it.
    if (revisionOf(manifest) === 0 && sum !== manifest.sum)
      throw new ImportError(`the scores add up to ${sum}, not to ${manifest.sum}`);
    for (const { name, first, rank } of standings) {
      const { above, unsure } = merged.countAbove(first.score);
      if (rank - 1 < above || rank - 1 > above + unsure) throw new ImportError(`the first rank of ${name} differs`);
    }
  }

  /** Closes the archive to changes. @returns false if it was changed meanwhile. */
  async #closeArchive(manifest: ArchiveManifest, now: number): Promise<boolean> {
    const { revision, movedAt = now } = manifest;
    const key = manifestKey(this.#archived.archive);
    const [first, ...others] = locationsOf(this.#env);
    const known = first === undefined ? null : await readWhole<ArchiveManifest>(first, key);
    if (first === undefined || known === null) return false;
    const next = { ...manifest, revision: manifest.movedAt === undefined ? revision + 1 : revision, movedAt };
    if (known.value.movedAt === undefined) {
      if (known.value.revision !== revision || !(await writeTo(first, key, next, known.etag))) return false;
    }
    for (const bucket of others) await writeTo(bucket, key, next);
    return true;
  }
}

/** The revision that an archive had before it was closed to changes. */
const revisionOf = ({ revision, movedAt }: ArchiveManifest): number =>
  movedAt === undefined ? revision : revision - 1;

function toRows(places: Float64Array): ArchivedEntry[] {
  const rows: ArchivedEntry[] = [];
  for (let at = 0; at < places.length; at += 2) rows.push(['', '', places[at] as number, places[at + 1] as number]);
  return rows;
}
