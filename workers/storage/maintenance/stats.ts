/** Counts the stored objects, blobs and bytes, shard by shard and page by page. These are full counts, for operators only. */
import { databaseOf, type EngineContext } from '../engine/model/context.ts';
import { findPage, type Page, sumPage } from '../engine/store/check-store.ts';
import { measureDatabaseBytes } from '../engine/store/database.ts';
import type { Table } from '../engine/store/table-rows.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';
import { isCurrent, isReferenced } from '../engine/store/version-sql.ts';
import { readScrubState } from './scrub.ts';
import { type WalkStep, walkTables } from './table-walk.ts';

const emptyCounts = () => ({
  objects: 0,
  versions: 0,
  deletion_markers: 0,
  bytes_live: 0,
  bytes_inline: 0,
  inline_objects: 0,
  bytes_packed: 0,
  packed_objects: 0,
  volumes: 0,
  blobs: 0,
  bytes_blobs: 0,
  bytes_garbage: 0,
  blobs_garbage: 0,
  blobs_lost: 0,
  copies_missing: 0,
  uploads_open: 0,
  parts: 0,
});
type Counts = ReturnType<typeof emptyCounts>;

/** Contents of a location according to the blob records. */
export interface LocationStats {
  location: string;
  blobs: number;
  bytes: number;
  /** Number of copies that the location still lacks. */
  missing: number;
}

interface Measured extends Counts {
  readonly locations: { blobs: number; bytes: number; missing: number }[];
}

export interface ShardStats extends Counts {
  shard: number;
  database_bytes: number;
  /** Time at which the count began; null until the first count is finished. The count of a large shard may be some minutes old. */
  as_of: string | null;
  scrub: { started_at: string | null; finished_at: string | null };
}

const iso = (ms: number | null | undefined): string | null => (ms ? new Date(ms).toISOString() : null);
const sumOf = (expression: string): string => `COALESCE(sum(${expression}), 0)`;

/** SQL condition of a packed object or extent. Only those in volumes have both columns. */
const IS_PACKED = 'blob_id IS NOT NULL AND crc32 IS NOT NULL';
const PACKED = `${sumOf(IS_PACKED)} AS packed_objects`;

/** SQL of the sums over each table. The name of a column is the name of the count to which it is added. */
const SUMS: readonly { readonly table: Table; readonly columns: string; readonly join?: string }[] = [
  {
    table: 'version',
    columns: `${sumOf(isCurrent('t'))} AS objects, ${sumOf('1 - is_marker')} AS versions, ${sumOf('is_marker')} AS deletion_markers,
      ${sumOf('size')} AS bytes_live, ${sumOf('data IS NOT NULL')} AS inline_objects,
      ${sumOf('CASE WHEN data IS NOT NULL THEN size END')} AS bytes_inline, ${PACKED}, ${sumOf(`CASE WHEN ${IS_PACKED} THEN size END`)} AS bytes_packed`,
  },
  {
    table: 'extent',
    columns: `${PACKED}, ${sumOf(`CASE WHEN ${IS_PACKED} THEN length END`)} AS bytes_packed`,
  },
  {
    table: 'reclaim',
    columns: `${sumOf('l.blob_id IS NOT NULL')} AS blobs_garbage, ${sumOf('l.size')} AS bytes_garbage`,
    join: `LEFT JOIN blob l ON l.blob_id = t.blob_id AND NOT ${isReferenced('t.blob_id')}`,
  },
  { table: 'upload', columns: `${sumOf("state = 'open'")} AS uploads_open` },
  { table: 'part', columns: 'count(*) AS parts' },
];

function stepsOf(context: EngineContext, shard: number): WalkStep<Measured>[] {
  const pageOf = (table: Table, after: Page['after']) =>
    findPage(context, shard, table, after, context.limits.checkPageRows);
  const add = (report: Measured, sums: Readonly<Record<string, number>>) => {
    for (const [name, value] of Object.entries(sums)) report[name as keyof Counts] += value;
  };
  const blobSums = [
    `count(*) AS blobs, ${sumOf('size')} AS bytes_blobs, ${sumOf("kind = 'volume'")} AS volumes, ${sumOf('is_lost')} AS blobs_lost`,
    ...context.locations.flatMap((_, location) => {
      const isHere = `((locations >> ${location}) & 1)`;
      const isMissing = `((missing >> ${location}) & 1)`;
      return [
        `${sumOf(isHere)} AS n${location}, ${sumOf(`${isHere} * size`)} AS b${location}`,
        `${sumOf(isMissing)} AS m${location}`,
      ];
    }),
  ].join(', ');
  return [
    ...SUMS.map(
      ({ table, columns, join }): WalkStep<Measured> =>
        async (after, report) => {
          const page = await pageOf(table, after);
          add(report, await sumPage(context, shard, page, columns, join));
          return page.end;
        },
    ),
    async (after, report) => {
      const page = await pageOf('blob', after);
      const {
        blobs = 0,
        bytes_blobs = 0,
        volumes = 0,
        blobs_lost = 0,
        ...held
      } = await sumPage(context, shard, page, blobSums);
      add(report, { blobs, bytes_blobs, volumes, blobs_lost });
      for (const [i, location] of report.locations.entries()) {
        location.blobs += held[`n${i}`] ?? 0;
        location.bytes += held[`b${i}`] ?? 0;
        location.missing += held[`m${i}`] ?? 0;
        report.copies_missing += held[`m${i}`] ?? 0;
      }
      return page.end;
    },
  ];
}

/** Adds up the counts of all shards. */
export function sumStats(shards: readonly ShardStats[]): Counts & { database_bytes: number } {
  const totals = { ...emptyCounts(), database_bytes: 0 };
  for (const name of Object.keys(totals) as (keyof typeof totals)[]) {
    for (const shard of shards) totals[name] += shard[name];
  }
  return totals;
}

interface KeptCount {
  readonly asOf: number;
  readonly report: Measured;
}

/**
 * Continues the count of a shard while `mayContinue` returns true.
 * @returns the newest complete count. For a small shard that is the one just made, for a large shard the last one that finished. If
 * none has finished, returns the partial count.
 */
export async function measureShard(
  context: EngineContext,
  shard: number,
  mayContinue: () => boolean = () => true,
): Promise<{ readonly stats: ShardStats; readonly locations: LocationStats[] }> {
  const empty = (): Measured => ({
    ...emptyCounts(),
    locations: context.locations.map(() => ({ blobs: 0, bytes: 0, missing: 0 })),
  });
  const walked = await walkTables(context, shard, 'stats walk', stepsOf(context, shard), empty, mayContinue);
  const before = walked.isDone ? null : await readTask<KeptCount>(context, shard, 'stats');
  const shown: KeptCount = before ?? { asOf: walked.isDone ? walked.startedAt : 0, report: walked.report };
  if (walked.isDone) await writeTask(context, shard, 'stats', shown);
  const databaseBytes = await measureDatabaseBytes(databaseOf(context, shard));
  const scrub = await readScrubState(context, shard);
  const { locations, ...counts } = shown.report;
  return {
    stats: {
      shard,
      ...counts,
      database_bytes: databaseBytes,
      as_of: iso(shown.asOf),
      scrub: { started_at: iso(scrub?.startedAt), finished_at: iso(scrub?.finishedAt) },
    },
    locations: locations.map((held, i) => ({ location: i === 0 ? 'BLOBS' : `BLOBS_${i + 1}`, ...held })),
  };
}
