/** Day headings of the list: finds which rows begin a new period, and where rows and headings are on the screen. Pure. */

export const DAY_HEAD_PX = 30;

export type Period =
  | { readonly kind: 'today' | 'yesterday' | 'week' }
  /** `month` is midnight of the month's first day. */
  | { readonly kind: 'month'; readonly month: Date };

export interface DayHead {
  /** Index of the row that the heading is above. */
  readonly index: number;
  readonly period: Period;
}

const DAY_MS = 86_400_000;
const startOfDay = (date: Date): Date => new Date(date.getFullYear(), date.getMonth(), date.getDate());

/** Finds the period of a date: today, yesterday, the five days before, and then whole months. */
export function periodOf(iso: string, now: Date): Period | null {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return null;
  // Days between two midnights. Rounded, because a day may have 23 or 25 hours.
  const days = Math.round((startOfDay(now).getTime() - startOfDay(date).getTime()) / DAY_MS);
  if (days <= 0) return { kind: 'today' };
  if (days === 1) return { kind: 'yesterday' };
  if (days < 7) return { kind: 'week' };
  return { kind: 'month', month: new Date(date.getFullYear(), date.getMonth(), 1) };
}

const keyOf = (period: Period): string => (period.kind === 'month' ? String(period.month.getTime()) : period.kind);

/**
 * Finds the day headings of the loaded rows.
 * @param dates the date of each loaded row, newest first.
 * @param firstRow index of the first loaded row in the whole list.
 */
export function findDayHeads(dates: readonly string[], firstRow: number, now: Date): DayHead[] {
  const heads: DayHead[] = [];
  let last = '';
  for (const [at, date] of dates.entries()) {
    const period = periodOf(date, now);
    if (!period || keyOf(period) === last) continue;
    last = keyOf(period);
    heads.push({ index: firstRow + at, period });
  }
  return heads;
}

/** Number of headings above a row, including the one directly above it. */
export const headsAbove = (heads: readonly DayHead[], index: number): number => {
  const after = heads.findIndex((head) => head.index > index);
  return after === -1 ? heads.length : after;
};

export const topOfRow = (heads: readonly DayHead[], index: number, rowPx: number): number =>
  index * rowPx + headsAbove(heads, index) * DAY_HEAD_PX;

/** Finds the row at a distance from the top of the list. */
export function rowAt(heads: readonly DayHead[], y: number, rowPx: number): number {
  let above = 0;
  for (const head of heads) {
    if (head.index * rowPx + above * DAY_HEAD_PX >= y) break;
    above += 1;
  }
  return Math.max(0, (y - above * DAY_HEAD_PX) / rowPx);
}
