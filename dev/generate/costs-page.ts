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
import {
  CPU_MS,
  OBJECT_GB,
  PRICES,
  priceOf,
  priceOfSending,
  RECIPIENT_USAGE,
  STORED_PRICES,
} from '../../workers/shared/telemetry/prices.ts';
import { ROOT } from '../local/build.ts';

export const RESULTS_PATH = 'bench/results/globe.json';
const BEGIN = '<!-- Written by `npm run generate` from bench/results/globe.json and the price files. Do not edit. -->';
const END = '<!-- End of what is generated. -->';
const SUMMARY_BEGIN = '<!-- The summary, written by `npm run generate`. Do not edit. -->';
const SUMMARY_END = '<!-- End of the summary. -->';

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

/** Makes the line of an operation, for a number of millions of calls, including the background work that follows. */
type ToLine = (operation: string, millions: number, isCold?: boolean) => Line;

/** Share of the reads of large objects that a data centre's cache answers. Ten million objects that are read from everywhere are cached rarely. */
const HIT_RATE = 0.1;

/** @param tb in objects of 1 MiB. Each TB has half a million writes and 9.5 million reads a month. */
const toStorageLines = (of: ToLine, tb: number): readonly Line[] => [
  storedInR2(tb),
  [`${0.4 * tb} GB of D1 for ${tb} million objects`, 0.4 * tb * STORED_PRICES.database],
  of('put-1m', 0.5 * tb),
  of('get-1m', 9.5 * tb * HIT_RATE),
  of('get-1m', 9.5 * tb * (1 - HIT_RATE), true),
  ['Workers plan', PLAN],
];

/** Makes the bills of the object storage examples. */
function toStorage(of: ToLine): Record<string, readonly Line[]> {
  const [tb, writes, reads] = [10, 5, 95];
  const gb = reads * 1e6 * MIB_IN_GB;
  return {
    Tessera: toStorageLines(of, tb),
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

/** Objects of a season with the default number of shards, in which scores arrive at any time: 32 shards, the season, 6 views. */
const SEASON_OBJECTS = 32 + 1 + 6;
const MONTH_SECONDS = 30 * 86_400;
const awake = (objects: number): Line => [
  `${objects} objects awake all month`,
  (objects * OBJECT_GB * MONTH_SECONDS * STORED_PRICES.objectDuration) / 1e6,
];

/** @param players in millions. Each posts, asks for its rank and reads the top list 300 times a month. */
const toBoardLines = (of: ToLine, players: number): readonly Line[] => [
  of('board-post', 300 * players),
  of('board-rank', 300 * players),
  of('board-top', 300 * players),
  awake(SEASON_OBJECTS),
  [`${players} GB in objects`, players * STORED_PRICES.objectStorage],
  ['Workers plan', PLAN],
];

function toBoard(of: ToLine): Record<string, readonly Line[]> {
  return {
    Tessera: toBoardLines(of, 1),
    'Managed Redis with a replica, one region': [
      ['2 nodes of 13 GB', MANAGED_REDIS_PAIR],
      servers(2, 'for the API in front of it'),
    ],
    'Self-hosted Redis, one region': [servers(2, 'Redis and the API on each')],
  };
}

/** The fee of Email Service, and what its delivery events use. */
function sending(millions: number): Line {
  const { recipient: _, ...events } = RECIPIENT_USAGE;
  return [
    `${millions} million recipients through Email Service, with their delivery events`,
    priceOfSending(millions * 1e6) + millions * 1e6 * priceOf(events),
  ];
}

/** @param users with 500 MB each; 20 messages in, 5 out, 100 lists and 50 opened a user and day. */
const toMailLines = (of: ToLine, users: number): readonly Line[] => [
  storedInR2((users * 0.5) / GB_PER_TB),
  [`${(users * 20) / 1_000} GB of SQLite in ${users} mailboxes`, (users * 20 * STORED_PRICES.objectStorage) / 1_000],
  of('mail-in', (users * 600) / 1e6),
  of('mail-out', (users * 150) / 1e6),
  sending((users * 150) / 1e6),
  of('mail-list', (users * 3_000) / 1e6),
  of('mail-open', (users * 1_500) / 1e6),
  ['Workers plan', PLAN],
];

function toMail(of: ToLine): Record<string, readonly Line[]> {
  return {
    Tessera: toMailLines(of, 10_000),
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

const toLines =
  (rows: readonly Row[]): ToLine =>
  (operation, millions, isCold = false) => {
    const find = (phase: Row['phase']) =>
      rows.find((row) => row.operation === operation && row.warm === !isCold && row.phase === phase);
    const perMillion =
      (find('request')?.usd_per_million ?? Number.NaN) + (find('background')?.usd_per_million ?? Number.NaN);
    const count = Math.round(millions * 1_000) / 1_000;
    const what = `${count} million \`${operation}\`${isCold ? ' without the cache' : ''}`;
    return [`${what} at $${perMillion.toFixed(2)} a million`, millions * perMillion];
  };

/** Dollars a month of a small, a middle and a large deployment of each product alone. */
function toSummary(rows: readonly Row[]): string {
  const of = toLines(rows);
  const sizes = [
    ['storage', [0.1, 1, 10].map((tb) => [tb < 1 ? `${tb * GB_PER_TB} GB` : `${tb} TB`, toStorageLines(of, tb)])],
    [
      'leaderboard',
      [0.01, 1, 25].map((players) => [
        players < 1 ? '10,000 players' : `${players} million players`,
        toBoardLines(of, players),
      ]),
    ],
    [
      'mail',
      [100, 1_000, 10_000].map((users) => [`${users.toLocaleString('en-US')} mailboxes`, toMailLines(of, users)]),
    ],
  ] as const;
  const cells = sizes.map(([product, three]) => [
    product,
    ...three.map(([name, lines]) => `${name}: **$${dollars(sumOf(lines as readonly Line[]))}**`),
  ]);
  return [
    SUMMARY_BEGIN,
    '',
    '| a month | small | middle | large |',
    '|---|---|---|---|',
    ...cells.map((row) => `| ${row.join(' | ')} |`),
    '',
    SUMMARY_END,
  ].join('\n');
}

function toSection(rows: readonly Row[]): string {
  const of = toLines(rows);
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
  const withSummary = replaceBetween(page, [SUMMARY_BEGIN, SUMMARY_END], toSummary(rows));
  return replaceBetween(withSummary, [BEGIN, END], toSection(rows));
}

/** @param marks first and last line of a generated section. */
function replaceBetween(page: string, [begin, end]: readonly [string, string], section: string): string {
  const [before, after] = [page.indexOf(begin), page.indexOf(end)];
  if (before < 0 || after < before) throw new Error('docs/costs.md has lost the marks of a generated section');
  return page.slice(0, before) + section + page.slice(after + end.length);
}
