/**
 * Names of seasons. A season is one period of a board. `2026-11` is a month of the board `default`. Seasons of
 * other boards have the board's reference before the period, as in `races.al.3f9c2d1e:2026-W47`: the board, how its
 * scores count (`n`: they may be negative), and an id, so that a board that was deleted and created again does not find its old scores.
 *
 * A period of a chosen length is named by its start and end. A season that began with a reset has the time of the reset behind the period
 * that it cuts, as in `2026-11.20261120T100005Z`. So the names of a board's seasons sort by their starts, and none comes twice.
 */
import type { SeasonSchedule, SeasonTimes } from './schedule.ts';
import { DEFAULT_RULES, OPERATORS, type ScoreRules, SORTS } from './score-rules.ts';

export const PERIODS = ['month', 'week', 'day', 'none', 'custom'] as const;
export type Period = (typeof PERIODS)[number];

export interface SeasonName extends SeasonTimes {
  /** Reference of the season's board; '' for `default`. */
  readonly board: string;
  readonly rules: ScoreRules;
  readonly period: Period;
  /**
   * Label of the period in the API: `2026-11`, `2026-W47` (ISO 8601), `2026-11-22`, `all` or `20261120T180000Z--20261123T180000Z`. After a
   * reset, `.` and its time follow.
   */
  readonly label: string;
  /** Time of the reset with which the season began. Absent if it began with its period. */
  readonly resetAt?: number;
}

/** The properties of a board on which the names of its seasons depend. */
export interface BoardPeriods {
  /** Reference of the board; '' for `default`. */
  readonly ref: string;
  readonly period: Period;
  /** The periods of a board whose period is `custom`. */
  readonly schedule?: SeasonSchedule | null;
  /** Times at which a season ended and another began, in ascending order. */
  readonly resets?: readonly number[] | null;
}

/** The name of the board with this reference. */
export const boardOfRef = (ref: string): string => (ref === '' ? 'default' : ref.slice(0, ref.indexOf('.')));

/** The id in the reference of a board. */
export const idOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('.') + 1);

const DEFAULT_BOARD: BoardPeriods = { ref: '', period: 'month' };
const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** Label of the only season of a board without periods. */
const ALL = 'all';
const NAME = /^(?:([a-z0-9-]+\.([da])([sbl])(n?)\.[0-9a-f]{8}):)?([^:]+)$/;

/** Makes the reference of a board from its immutable properties. @param id 8 hexadecimal digits. */
export const toBoardRef = (board: string, { sort, operator, isSigned }: ScoreRules, id: string): string =>
  `${board}.${sort[0]}${operator[0]}${isSigned ? 'n' : ''}.${id}`;

export function parseSeason(name: string): SeasonName | null {
  const [, board = '', sort, operator, sign, label = ''] = NAME.exec(name) ?? [];
  const period = parsePeriod(label);
  if (period === null || (board === '' && (period.period !== 'month' || period.resetAt !== undefined))) return null;
  const rules = {
    sort: SORTS.find(([first]) => first === sort) ?? DEFAULT_RULES.sort,
    operator: OPERATORS.find(([first]) => first === operator) ?? DEFAULT_RULES.operator,
    ...(sign === 'n' ? { isSigned: true } : {}),
  };
  return { board, rules, label, ...period };
}

/** Parsed names of seasons, cached because each post reads the same ones several times. */
const known = new Map<string, SeasonName>();
const KNOWN_MAX = 100;

/** Parses the name of a season. @throws if it is not valid. */
export function readSeason(name: string): SeasonName {
  const season = known.get(name) ?? parseSeason(name);
  if (season === null) throw new Error(`${name} is not a season`);
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(name, season);
  return season;
}

type ParsedPeriod = SeasonTimes & Pick<SeasonName, 'period' | 'resetAt'>;

/** Parses the label of a period. @param label label of a season of any board. */
export function parsePeriod(label: string): ParsedPeriod | null {
  const dot = label.indexOf('.');
  const base = parseBase(dot === -1 ? label : label.slice(0, dot));
  if (base === null || dot === -1) return base;
  const resetAt = parseTime(label.slice(dot + 1));
  if (resetAt === null || resetAt <= base.startsAt || resetAt >= base.endsAt) return null;
  return { ...base, startsAt: resetAt, resetAt };
}

/** Parses a time of ISO 8601 in the form of labels; null if it is another text. */
function parseTime(text: string): number | null {
  const at = Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  return Number.isFinite(at) && toTimeLabel(at) === text ? at : null;
}

const toTimeLabel = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

function parseBase(label: string): ParsedPeriod | null {
  const [start = '', end, ...rest] = label.split('--');
  if (end !== undefined) {
    const [startsAt, endsAt] = [parseTime(start), parseTime(end)];
    const isValid = startsAt !== null && endsAt !== null && startsAt < endsAt && rest.length === 0;
    return isValid ? { period: 'custom', startsAt, endsAt } : null;
  }
  if (label === ALL) return { period: 'none', startsAt: 0, endsAt: Number.MAX_SAFE_INTEGER };
  const [, year = 0, month = 0, day] = (/^(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(label) ?? []).map(Number);
  const [, weekYear = 0, week] = (/^(\d{4})-W(\d\d)$/.exec(label) ?? []).map(Number);
  const period: Exclude<Period, 'custom'> = label.includes('W') ? 'week' : label.length > 7 ? 'day' : 'month';
  const startsAt =
    week === undefined ? Date.UTC(year, month - 1, day || 1) : firstWeekOf(weekYear) + (week - 1) * WEEK_MS;
  // Date.UTC converts months and days that do not exist to others. The label then differs from that of the result.
  if (labelAt(period, startsAt) !== label) return null;
  const endsAt = period === 'month' ? Date.UTC(year, month) : startsAt + (period === 'day' ? DAY_MS : WEEK_MS);
  return { period, startsAt, endsAt };
}

/** Start of the week that contains a time. Weeks begin on Monday; 1970-01-01 was a Thursday. */
const mondayOf = (at: number): number => Math.floor((at / DAY_MS + 3) / 7) * WEEK_MS - 3 * DAY_MS;
/** Start of the first week of a year, which is the one with January 4 (ISO 8601). */
const firstWeekOf = (year: number): number => mondayOf(Date.UTC(year, 0, 4));

function labelAt(period: Exclude<Period, 'custom'>, at: number): string {
  if (period === 'none') return ALL;
  if (period !== 'week') return new Date(at).toISOString().slice(0, period === 'month' ? 7 : 10);
  const monday = mondayOf(at);
  // By ISO 8601, a week belongs to the year of its Thursday.
  const year = new Date(monday + 3 * DAY_MS).getUTCFullYear();
  const week = 1 + (monday - firstWeekOf(year)) / WEEK_MS;
  return `${String(year).padStart(4, '0')}-W${String(week).padStart(2, '0')}`;
}

const join = (board: string, label: string): string => (board === '' ? label : `${board}:${label}`);

/** The label of the period that contains a time, without resets. */
function baseAt(at: number, { period, schedule }: BoardPeriods): string {
  if (period !== 'custom') return labelAt(period, at);
  if (schedule == null) throw new Error('the board has no schedule');
  const { startsAt, endsAt } = schedule.periodAt(at);
  return `${toTimeLabel(startsAt)}--${toTimeLabel(endsAt)}`;
}

/** The name of a board's season at a time: that of its schedule nearest to it. @param at milliseconds since 1970. */
export function seasonAt(at: number, board = DEFAULT_BOARD): string {
  const base = baseAt(at, board);
  const reset = board.resets?.findLast((resetAt) => resetAt <= at);
  const startsAt = reset === undefined ? 0 : (parseBase(base)?.startsAt ?? 0);
  return join(board.ref, reset === undefined || reset <= startsAt ? base : `${base}.${toTimeLabel(reset)}`);
}

/** The name of a board's season with this label; null if the board has no such season. */
export function seasonNamed(label: string, board = DEFAULT_BOARD): string | null {
  const parsed = parsePeriod(label);
  if (parsed?.period !== board.period) return null;
  const name = join(board.ref, label);
  const isCalendar = board.period !== 'custom' && parsed.resetAt === undefined;
  return isCalendar || seasonAt(parsed.startsAt, board) === name ? name : null;
}

/** The end of a season: that of its period, or an earlier reset. */
export function endOfSeason(name: string, { resets }: Pick<BoardPeriods, 'resets'>): number {
  const { startsAt, endsAt } = readSeason(name);
  return Math.min(endsAt, resets?.find((resetAt) => resetAt > startsAt) ?? endsAt);
}

/** The name of the season before; null if there is none. @param board the periods of the board, if it has a schedule or resets */
export function previousSeason(name: string, board?: BoardPeriods): string | null {
  const { board: ref, period, startsAt } = readSeason(name);
  if (startsAt === 0) return null;
  const before = seasonAt(startsAt - 1, board ?? { ref, period });
  // There is no period before the first one of a schedule.
  return before === name ? null : before;
}

/** The name of the season of the next period; null if the board has no periods, or a schedule of its own. */
export function nextSeason(name: string): string | null {
  const { board: ref, period, endsAt } = readSeason(name);
  return period === 'none' || period === 'custom' ? null : seasonAt(endsAt, { ref, period });
}

/**
 * Time at which the objects of the next season are created: a day before it starts, or two hours before for daily boards. Null if
 * there is no next season, or the board has a schedule of its own.
 */
export function preparationAt(name: string): number | null {
  const { period, endsAt } = readSeason(name);
  if (period === 'none' || period === 'custom') return null;
  return endsAt - (period === 'day' ? DAY_MS / 12 : DAY_MS);
}
