/** The boards: `default`, the monthly board of the specification, and those that operators created. */
import { POINTS_MAX } from '../../../durable-objects/leaderboard/protocol.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { SeasonSchedule } from '../domain/schedule.ts';
import { type BoardRules, DEFAULT_RULES, DEFAULT_TITLE } from '../domain/score-rules.ts';
import { type BoardPeriods, toBoardRef } from '../domain/season-name.ts';
import { type BoardRow, createBoardStore } from '../records/board-store.ts';

export type Board = BoardPeriods & Readonly<Omit<BoardRow, 'id' | 'createdAt' | 'deletedAt' | 'schedule'>>;

/**
 * The board `default` with its initial title. Posts and reads of scores use it as it is. Only `GET /v1/boards/default` reads the
 * title and the logo that an operator has set.
 */
export const DEFAULT_BOARD: Board = {
  ...DEFAULT_RULES,
  board: 'default',
  ref: '',
  title: DEFAULT_TITLE,
  period: 'month',
  isPublic: true,
  logo: null,
  seasonsKept: null,
  pointsMax: POINTS_MAX,
  pointsPerDayMax: null,
  pointsPerDayBefore: null,
  rulesFrom: 0,
  isSigned: false,
  decimals: 0,
  sessions: null,
  dataBytesMax: null,
  secondsBetween: null,
  findsNames: false,
  shards: null,
  makes: null,
  schedule: null,
  resets: null,
};

/** The rules of a board that its shards apply. */
export const rulesOf = (board: Board): BoardRules => {
  const { sort, operator, isSigned, pointsPerDayMax, pointsPerDayBefore, rulesFrom: from } = board;
  const rules = { sort, operator, from, pointsPerDayMax, pointsPerDayBefore };
  return isSigned ? { ...rules, isSigned } : rules;
};

export const toBoard = (row: BoardRow): Board =>
  row.board === DEFAULT_BOARD.board
    ? { ...DEFAULT_BOARD, title: row.title, logo: row.logo, seasonsKept: row.seasonsKept, findsNames: row.findsNames }
    : { ...row, ref: toBoardRef(row.board, row, row.id), schedule: row.schedule && new SeasonSchedule(row.schedule) };

/** The row of the board `default`, which stores its title and how many seasons it keeps. The other columns repeat its fixed rules. */
export const toDefaultRow = (
  title: string,
  { seasonsKept = null, findsNames = false }: Partial<Pick<BoardRow, 'seasonsKept' | 'findsNames'>>,
  createdAt: number,
): BoardRow => {
  const { ref: _, ...fixed } = DEFAULT_BOARD;
  return { ...fixed, id: '', title, seasonsKept, findsNames, createdAt, deletedAt: null, schedule: null, resets: null };
};

interface Known {
  readonly at: number;
  readonly board: Board;
}

/** Time for which an isolate caches a board. Until then it uses a changed or deleted board in its old form. */
export const BOARD_KNOWN_MS = 10_000;
/**
 * Time after which a changed limit per day holds. By then no isolate caches the former one, and no post that brought it still waits for
 * its shard.
 */
export const RULES_AFTER_MS = 3 * BOARD_KNOWN_MS;
const KNOWN_MAX = 256;
const known = new Map<string, Known>();

export async function findBoard(env: Env, name = DEFAULT_BOARD.board): Promise<Board | null> {
  if (name === DEFAULT_BOARD.board) return DEFAULT_BOARD;
  const now = Date.now();
  const cached = known.get(name);
  if (cached !== undefined && Math.abs(now - cached.at) < BOARD_KNOWN_MS) return cached.board;
  const row = await createBoardStore(env.DIRECTORY).find(name);
  if (row === null) return null;
  if (known.size >= KNOWN_MAX) known.clear();
  const board = toBoard(row);
  known.set(name, { at: now, board });
  return board;
}

export const forgetBoard = (name: string): boolean => known.delete(name);

/** Finds a board without the cache, for example after a shard of it was found sealed. */
export function findBoardAgain(env: Env, name: string | undefined): Promise<Board | null> {
  if (name !== undefined) forgetBoard(name);
  return findBoard(env, name);
}

/** Number of shards of the seasons that the board begins now. */
export const shardsOf = (env: Env, { shards }: Board): number => shards ?? settingsOf(env).LEADERBOARD_SHARDS;
