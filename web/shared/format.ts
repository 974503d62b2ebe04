/** Formats numbers and times for people. */
import { localeOf } from './look.ts';
import { language, plural, texts } from './texts/index.ts';

const LOCALE = localeOf();

const UNITS = ['KB', 'MB', 'GB', 'TB', 'PB'];

const COUNT = new Intl.NumberFormat(LOCALE);
const TENTHS = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
export const formatCount = (value: number): string => COUNT.format(value);

/** A number with this many decimals. */
export const formatDecimal = (value: number, decimals: number): string =>
  decimals === 0
    ? formatCount(value)
    : value.toLocaleString(LOCALE, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length) {
    value /= 1000;
    unit += 1;
  }
  if (unit === 0) return plural(texts.app.units.bytes, bytes);
  return `${(value < 10 ? TENTHS : WHOLE).format(value)} ${UNITS[unit - 1]}`;
}

const LIST = new Intl.ListFormat(language);

/** Joins parts to a list, for example "2 changes and 1 message". Empty parts are left out. */
export const formatList = (parts: readonly string[]): string => LIST.format(parts.filter(Boolean));

const CLOCK = new Intl.DateTimeFormat(LOCALE, { hour: 'numeric', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(LOCALE, { month: 'short', day: 'numeric' });
const YEAR_DAY = new Intl.DateTimeFormat(LOCALE, { year: 'numeric', month: 'short', day: 'numeric' });
const FULL = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'full', timeStyle: 'short' });
const SHORT = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'short' });

/** Formats a date in short form: the time if it is today, the day if it is this year, otherwise the full date. */
export function formatWhen(iso: string, now = new Date()): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  if (date.toDateString() === now.toDateString()) return CLOCK.format(date);
  return date.getFullYear() === now.getFullYear() ? DAY.format(date) : YEAR_DAY.format(date);
}

const formatWith = (format: Intl.DateTimeFormat) => (iso: string) => {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? '' : format.format(date);
};
/** Formats a time with seconds, for moments that are close together. */
export const formatExact = formatWith(new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' }));
export const formatTime = formatWith(CLOCK);
export const formatDay = formatWith(YEAR_DAY);
export const formatFull = formatWith(FULL);
export const formatDateTime = formatWith(SHORT);

const EVENT_DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'full' });

/** Formats the time of a calendar event. @param end the end; for whole days, the last day. */
export function formatEvent(start: Date, end: Date | null, isAllDay: boolean): string {
  const format = isAllDay ? EVENT_DAY : FULL;
  return end && end >= start ? format.formatRange(start, end) : format.format(start);
}

const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' });

/** Formats a time relative to now, for example "in 5 minutes" or "2 hours ago". */
export function formatRelative(iso: string, now = Date.now()): string {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  const steps: [Intl.RelativeTimeFormatUnit, number][] = [
    ['second', 60],
    ['minute', 3600],
    ['hour', 86_400],
    ['day', Number.POSITIVE_INFINITY],
  ];
  const sizes: Record<string, number> = { second: 1, minute: 60, hour: 3600, day: 86_400 };
  for (const [unit, below] of steps) {
    if (Math.abs(seconds) < below) return RELATIVE.format(Math.round(seconds / (sizes[unit] ?? 1)), unit);
  }
  return '';
}

/** Formats a length of time, for example "7 days". */
export const formatUnit = (count: number, unit: 'hour' | 'day'): string =>
  new Intl.NumberFormat(LOCALE, { style: 'unit', unit, unitDisplay: 'long' }).format(count);

/** Formats a duration, for example "45 s", "3 min" or "2 h". */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
