/**
 * `npm run bench -- globe`: the cost of each operation for a client far from the primaries, in milliseconds, serial long-haul round
 * trips, rows, requests and dollars. Writes `bench/results/globe.json`. After each sample its floor is measured: the same calls of
 * bindings in a Worker that does nothing else.
 *
 * `--check` compares the counts with `bench/budget.json`. With `--short` it runs fewer samples and compares only requests whose
 * counts do not depend on the speed of the machine. `--only=name,name` runs these operations; with `--save`, it replaces their results. `--samples=n`
 * sets the number of samples. `--calls` also prints the calls and the written rows of each operation, summed over all samples.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CPU_MS, PRICES } from '../../workers/shared/telemetry/prices.ts';
import { type Measured, withGlobe } from './globe.ts';
import type { Counts } from './meter.ts';
import { type Operation, SAMPLES_FOR_P99 } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const BENCH = join(import.meta.dirname, '..');
const SAMPLES = 10;
/** Parts of a board in checks, for which the budget is made. A busy machine cannot run the 32 of a full run, the default, in time. */
const SHARDS_OF_CHECK = '4';
/** Number of samples of the short check. Operations with background work once a second, or once per volume, need more samples. */
const SAMPLES_OF_SHORT = 3;
/** Names of the operations that the short check (`--check --short`) measures. */
const SHORT: ReadonlySet<string> = new Set(['get-4k', 'get-1m', 'head', 'put-4k', 'mail-list', 'board-top']);

/** A line of the results: counts per operation. `long_haul_serial`: number of consecutive round trips of more than 20 ms. */
interface Row {
  readonly operation: string;
  readonly from: string;
  readonly warm: boolean;
  readonly phase: 'request' | 'background';
  readonly ms_p50: number | null;
  readonly ms_p99: number | null;
  /** Median time of the operation's floor, measured in the same run. Null without a floor. */
  readonly floor_ms_p50: number | null;
  /** Median of the differences in milliseconds between each sample and the floor measured after it. */
  readonly over_floor_ms: number | null;
  /** Ratio of `ms_p50` to `floor_ms_p50`. */
  readonly floor_ratio: number | null;
  readonly long_haul_serial: number;
  readonly rows_read: number;
  readonly rows_written: number;
  readonly r2_a: number;
  readonly r2_b: number;
  readonly do_requests: number;
  readonly queue_ops: number;
  readonly log_lines: number;
  /** Queries to the primary of DIRECTORY, per operation. */
  readonly directory_primary: number;
  /** Share of the requests that queried the primary of DIRECTORY. */
  readonly primary_share: number;
  readonly usd_per_million: number;
}
/** Maximum counts for each row of the results. `why` explains counts that do not follow from the operation. */
type Budget = Readonly<Record<string, Partial<Record<keyof Row, number>> & { readonly why?: string }>>;

const percentile = (sorted: readonly number[], part: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);
const round = (value: number): number => Math.round(value * 100) / 100;

function priceOf(counts: Counts, requests: number): number {
  return (
    requests * PRICES.workerRequest +
    counts.events * CPU_MS * PRICES.cpuMs +
    counts.rows_read * PRICES.rowRead +
    counts.rows_written * PRICES.rowWritten +
    counts.r2_a * PRICES.classA +
    counts.r2_b * PRICES.classB +
    counts.do_requests * PRICES.objectRequest +
    counts.queue_ops * PRICES.queueOperation +
    counts.log_lines * PRICES.logLine
  );
}

/** An operation cannot beat its floor: a little less is noise, and more means that the model leaves out a part of the operation. */
const RATIO_NOISE = 0.05;
const isBelowFloor = ({ floor_ratio }: Row): boolean => floor_ratio !== null && floor_ratio < 1 - RATIO_NOISE;
const toRatio = (ratio: number): number => (ratio < 1 && ratio >= 1 - RATIO_NOISE ? 1 : round(ratio));

const NO_FLOOR = { floor_ms_p50: null, over_floor_ms: null, floor_ratio: null };
function compareWithFloor({ ms, floorMs }: Measured): Pick<Row, keyof typeof NO_FLOOR> {
  if (floorMs.length === 0) return NO_FLOOR;
  const floor = percentile(ascending(floorMs), 0.5);
  return {
    floor_ms_p50: floor,
    over_floor_ms: percentile(ascending(ms.map((each, at) => each - (floorMs[at] ?? 0))), 0.5),
    floor_ratio: toRatio(percentile(ascending(ms), 0.5) / floor),
  };
}

function toRows(about: Pick<Row, 'operation' | 'from' | 'warm'>, measured: Measured): Row[] {
  const count = measured.ms.length;
  const sorted = ascending(measured.ms);
  const floor = compareWithFloor(measured);
  const toRow = (phase: Row['phase'], counts: Counts, isRequest: boolean): Row => ({
    ...about,
    phase,
    ms_p50: isRequest ? percentile(sorted, 0.5) : null,
    ms_p99: isRequest && count >= SAMPLES_FOR_P99 ? percentile(sorted, 0.99) : null,
    ...(isRequest ? floor : NO_FLOOR),
    long_haul_serial: isRequest ? round(counts.long_haul_serial / count) : 0,
    rows_read: round(counts.rows_read / count),
    rows_written: round(counts.rows_written / count),
    r2_a: round(counts.r2_a / count),
    r2_b: round(counts.r2_b / count),
    do_requests: round(counts.do_requests / count),
    queue_ops: round(counts.queue_ops / count),
    log_lines: round(counts.log_lines / count),
    directory_primary: round(counts.directory_primary / count),
    primary_share: isRequest ? round(measured.primaryShare) : 0,
    usd_per_million: round(priceOf(counts, isRequest ? count : 0) / count),
  });
  return [toRow('request', measured.request, true), toRow('background', measured.background, false)];
}

const nameOf = (row: Row): string => `${row.operation} ${row.warm ? 'warm' : 'cold'} ${row.phase}`;

function print(row: Row): void {
  const cells = [
    nameOf(row).padEnd(34),
    `${row.ms_p50 ?? ''}`.padStart(6),
    `${row.ms_p99 ?? ''}`.padStart(6),
    `${row.floor_ms_p50 ?? ''}`.padStart(6),
    `${row.over_floor_ms ?? ''}`.padStart(6),
    `${row.floor_ratio?.toFixed(2) ?? ''}`.padStart(6),
    ...[row.long_haul_serial, row.rows_read, row.rows_written, row.r2_a, row.r2_b, row.do_requests, row.queue_ops].map(
      (value) => String(value).padStart(7),
    ),
    String(row.log_lines).padStart(6),
    String(row.directory_primary).padStart(6),
    (row.primary_share > 0 ? `${Math.round(row.primary_share * 100)}%` : '').padStart(6),
    row.usd_per_million.toFixed(2).padStart(8),
  ];
  console.log(cells.join(' '));
}

/** A line for each kind of call, and for each statement that wrote rows, with the sum over all samples. */
const toCallLines = (measured: Measured): string[] =>
  (['request', 'background'] as const).flatMap((phase) =>
    Object.entries(measured[phase].calls).map(
      ([name, count]) => `    ${phase.padEnd(12)}${String(count).padStart(6)} ${name}`,
    ),
  );

const HEADER = `${'operation'.padEnd(34)}    p50    p99  floor   over  ratio   trips  rows r  rows w    r2 a    r2 b      do   queue   logs  dir-p  share   $/M`;

/**
 * Compares the counts with the budget. Background work is a difference of two measurements, in which a few rows may be another
 * operation's. So its counts per operation are rounded down before they are compared.
 * @returns a sentence for each count above its budget, for each row without a budget, and for each row below its floor.
 */
function compare(rows: readonly Row[], budget: Budget): string[] {
  return rows.flatMap((row) => {
    if (isBelowFloor(row)) return [`${nameOf(row)} is faster than its floor (${row.floor_ratio})`];
    const known = budget[nameOf(row)];
    if (!known) return [`${nameOf(row)} has no budget`];
    const { why: _, ...limits } = known;
    return Object.entries(limits).flatMap(([name, limit]) => {
      const value = row[name as keyof Row];
      const counted = typeof value === 'number' && row.phase === 'background' ? Math.floor(value) : value;
      return typeof counted === 'number' && counted > limit
        ? [`${nameOf(row)}: ${name} is ${value}, at most ${limit}`]
        : [];
    });
  });
}

const RESULTS = join(BENCH, 'results/globe.json');
function save(rows: readonly Row[]): void {
  mkdirSync(join(BENCH, 'results'), { recursive: true });
  writeFileSync(RESULTS, `${JSON.stringify(rows, null, 2)}\n`);
}

/** @returns the saved results with these rows in place of those of the same name, in the order of the operations. */
function replaceRows(rows: readonly Row[]): Row[] {
  const saved = JSON.parse(readFileSync(RESULTS, 'utf8')) as Row[];
  const byName = new Map([...saved, ...rows].map((row) => [nameOf(row), row]));
  const order = OPERATIONS.map(({ operation }) => operation);
  return [...byName.values()].sort((a, b) => order.indexOf(a.operation) - order.indexOf(b.operation));
}

export async function run(options: readonly string[]): Promise<void> {
  const optionOf = (name: string) => options.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
  const isCheck = options.includes('--check');
  const isShort = options.includes('--short');
  const asked = optionOf('samples') ?? (isShort ? SAMPLES_OF_SHORT : undefined);
  const only = optionOf('only')?.split(',');
  const rows: Row[] = [];
  console.log(HEADER);
  await withGlobe(isCheck ? SHARDS_OF_CHECK : '', async (globe) => {
    const isWanted = ({ operation }: Operation) =>
      (only === undefined || only.includes(operation)) && (!isShort || SHORT.has(operation));
    for (const operation of OPERATIONS.filter(isWanted)) {
      const about = { operation: operation.operation, from: operation.from, warm: operation.warm };
      const measured = await operation.run(
        globe,
        Number(asked ?? (isCheck ? SAMPLES : (operation.samples ?? SAMPLES))),
      );
      const made = toRows(about, measured);
      made.forEach(print);
      if (options.includes('--calls')) console.log(toCallLines(measured).join('\n'));
      rows.push(...made);
    }
  });
  if (!isCheck) {
    if (only && !options.includes('--save')) return;
    save(only ? replaceRows(rows) : rows);
    return;
  }
  // A short check compares only counts of requests: with few samples, cron's work for earlier operations may be counted as background of a
  // later one.
  const compared = isShort
    ? rows.filter(({ phase }) => phase === 'request').map((row) => ({ ...row, floor_ratio: null }))
    : rows;
  const problems = compare(compared, JSON.parse(readFileSync(join(BENCH, 'budget.json'), 'utf8')) as Budget);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exit(1);
}
