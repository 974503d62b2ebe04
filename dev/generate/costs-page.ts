/** Makes the comparison in docs/costs.md from the results of `npm run bench -- globe` and the prices. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  MANAGED_REDIS_PAIR,
  RENTED_SERVER,
  RENTED_SERVER_TB,
  S3,
  S3_TRANSFER,
} from '../../bench/globe/other-prices.ts';
import { CPU_MS, PRICES, STORED_PRICES } from '../../workers/shared/telemetry/prices.ts';
import { ROOT } from '../local/build.ts';

export const RESULTS_PATH = 'bench/results/globe.json';
const BEGIN = '<!-- Written by `npm run generate` from bench/results/globe.json and the price files. Do not edit. -->';
const END = '<!-- End of what is generated. -->';

interface Row {
  readonly operation: string;
  readonly warm: boolean;
  readonly phase: 'request' | 'background';
  readonly ms_p50: number | null;
  /** Median time of the floor in milliseconds. Absent in results from before November 2026; null for operations without a floor. */
  readonly floor_ms_p50?: number | null;
  readonly over_floor_ms?: number | null;
  readonly long_haul_serial: number;
  readonly rows_written: number;
  readonly usd_per_million: number;
}

/** A line of a monthly bill: description, and US dollars per month. */
type Line = readonly [what: string, dollars: number];

const LOCATIONS = 2;
const GB_PER_TB = 1_000;
const MIB_IN_GB = 1.048576 / 1_000;
const PLAN = 5;

const storedInR2 = (tb: number): Line => [
  `${tb} TB in ${LOCATIONS} locations of R2`,
  tb * GB_PER_TB * LOCATIONS * STORED_PRICES.r2,
];
const servers = (count: number, what: string): Line => [`${count} rented servers, ${what}`, count * RENTED_SERVER];

function transferOf(gb: number): number {
  let [dollars, from] = [0, 0];
  for (const [upTo, perGb] of S3_TRANSFER) {
    dollars += Math.max(0, Math.min(gb, upTo) - from) * perGb;
    from = upTo;
  }
  return dollars;
}

/**
 * Makes the bills of the object storage examples.
 * @param of returns the line of an operation, for a number of millions of calls, including the background work that follows.
 */
function toStorage(of: (operation: string, millions: number) => Line): Record<string, readonly Line[]> {
  const [tb, writes, reads] = [10, 5, 95];
  const gb = reads * 1e6 * MIB_IN_GB;
  return {
    Tessera: [
      storedInR2(tb),
      ['4 GB of D1 for 10 million objects', 4 * STORED_PRICES.database],
      of('put-1m', writes),
      of('get-1m', reads),
      ['Workers plan', PLAN],
    ],
    'R2 alone, one location': [
      [`${tb} TB`, tb * GB_PER_TB * STORED_PRICES.r2],
      [`${writes} million writes, ${reads} million reads`, writes * PRICES.classA + reads * PRICES.classB],
    ],
    'R2 behind a Worker, one location': [
      [`${tb} TB`, tb * GB_PER_TB * STORED_PRICES.r2],
      [`${writes} million writes, ${reads} million reads`, writes * PRICES.classA + reads * PRICES.classB],
      [`${writes + reads} million Worker requests`, (writes + reads) * (PRICES.workerRequest + CPU_MS * PRICES.cpuMs)],
      ['Workers plan', PLAN],
    ],
    'S3 Standard, one region': [
      [`${tb} TB`, tb * GB_PER_TB * S3.perGbMonth],
      [`${writes} million writes, ${reads} million reads`, writes * S3.perMillionWrites + reads * S3.perMillionReads],
      [`${Math.round(gb / GB_PER_TB)} TB to the internet`, transferOf(gb)],
    ],
    'Self-hosted, two locations': [servers(2 * Math.ceil((tb * 1.3) / RENTED_SERVER_TB), '30% of the disks free')],
  };
}

function toBoard(of: (operation: string, millions: number) => Line): Record<string, readonly Line[]> {
  const awakeObjects = 8;
  const gbSeconds = (awakeObjects * 0.125 * 30 * 86_400) / 1e6;
  return {
    Tessera: [
      of('board-post', 300),
      of('board-rank', 300),
      of('board-top', 300),
      [`${awakeObjects} objects awake all month`, gbSeconds * STORED_PRICES.objectDuration],
      ['1 GB in objects', STORED_PRICES.objectStorage],
      ['Workers plan', PLAN],
    ],
    'Managed Redis with a replica, one region': [
      ['2 nodes of 13 GB', MANAGED_REDIS_PAIR],
      servers(2, 'for the API in front of it'),
    ],
    'Self-hosted Redis, one region': [servers(2, 'Redis and the API on each')],
  };
}

function toMail(of: (operation: string, millions: number) => Line): Record<string, readonly Line[]> {
  const [users, tb] = [10_000, 5];
  return {
    Tessera: [
      storedInR2(tb),
      [`200 GB of SQLite in ${users} mailboxes`, 200 * STORED_PRICES.objectStorage],
      of('mail-in', 6),
      of('mail-out', 1.5),
      of('mail-list', 30),
      of('mail-open', 15),
      ['Workers plan', PLAN],
    ],
    'Self-hosted, two locations': [servers(4, 'mail and its copy')],
  };
}

const WORKLOADS = [
  {
    title: 'Storage: 10 TB in objects of 1 MiB; 5 million writes and 95 million reads a month, from everywhere',
    toBills: toStorage,
  },
  {
    title: 'Board: a million players; 300 million posts, 300 million ranks and 300 million top lists a month',
    toBills: toBoard,
  },
  {
    title: 'Mail: 10,000 users with 500 MB each; 20 messages in, 5 out, 100 lists and 50 opened a user and day',
    toBills: toMail,
  },
] as const;

const dollars = (amount: number): string => Math.round(amount).toLocaleString('en-US');
const sumOf = (lines: readonly Line[]): number => lines.reduce((sum, [, amount]) => sum + amount, 0);

function toSection(rows: readonly Row[]): string {
  const find = (operation: string, phase: Row['phase']) =>
    rows.find((row) => row.operation === operation && row.warm && row.phase === phase);
  const perMillion = (operation: string) =>
    (find(operation, 'request')?.usd_per_million ?? Number.NaN) +
    (find(operation, 'background')?.usd_per_million ?? Number.NaN);
  const of = (operation: string, millions: number): Line => [
    `${millions} million \`${operation}\` at $${perMillion(operation).toFixed(2)} a million`,
    millions * perMillion(operation),
  ];
  const operations = rows
    .filter((row) => row.phase === 'request')
    .map((row) => {
      const background = rows.find(
        (other) => other.operation === row.operation && other.warm === row.warm && other.phase === 'background',
      );
      const cells = [
        `\`${row.operation}\``,
        row.warm ? 'warm' : 'cold',
        row.ms_p50,
        row.floor_ms_p50 ?? '–',
        row.over_floor_ms ?? '–',
        row.long_haul_serial,
        Math.round(10 * (row.rows_written + (background?.rows_written ?? 0))) / 10,
        (row.usd_per_million + (background?.usd_per_million ?? 0)).toFixed(2),
      ];
      return `| ${cells.join(' | ')} |`;
    });
  const workloads = WORKLOADS.map(({ title, toBills }) => {
    const bills = Object.entries(toBills(of)).map(([name, lines]) => {
      const parts = lines.map(([what, amount]) => `${what}: ${dollars(amount)}`).join('; ');
      return `| ${name} | ${dollars(sumOf(lines))} | ${parts} |`;
    });
    return [`**${title}**`, '', '| | dollars a month | made of |', '|---|---|---|', ...bills].join('\n');
  });
  return [
    BEGIN,
    '',
    '### Each operation',
    '',
    'With the background work that follows it. The client is in Sydney, the primaries in Ashburn (`mail-in`: both in Ashburn).',
    '',
    '| | | ms, median | floor | over it | long-haul trips | rows written | $ a million |',
    '|---|---|---|---|---|---|---|---|',
    ...operations,
    '',
    '### Three workloads',
    '',
    ...workloads.flatMap((workload) => [workload, '']),
    END,
  ].join('\n');
}

/** Makes the page docs/costs.md. @returns its text, with the section that is generated from the results. */
export function toCostsPage(): string {
  const page = readFileSync(join(ROOT, 'docs/costs.md'), 'utf8');
  const rows = JSON.parse(readFileSync(join(ROOT, RESULTS_PATH), 'utf8')) as Row[];
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (before < 0 || after < before) throw new Error('docs/costs.md has lost the marks of its generated section');
  return page.slice(0, before) + toSection(rows) + page.slice(after + END.length);
}
