/** Converts times of calendars from their time zones. A zone is known by its name, or by rules in the calendar itself. Pure. */
import { type CalendarComponent, type CalendarProperty, findProperty } from './calendar.ts';

export interface CalendarTime {
  /** Local time in its time zone: `2026-11-05T10:30:00`, or `2026-11-05` for a whole day. */
  readonly local: string;
  /**
   * Name of the time zone. Null for a whole day, and for a floating time, which is the same local time in every zone (RFC 5545
   * §3.3.5).
   */
  readonly timeZone: string | null;
  /** The time in milliseconds since 1970; null if there is no time zone or it is unknown. */
  readonly at: number | null;
}

const DAY_MS = 86_400_000;
/** Units of a duration, in the order in which it names them: weeks, days, hours, minutes, seconds. */
const DURATION_UNITS_MS = [7 * DAY_MS, DAY_MS, 3_600_000, 60_000, 1_000];

/** Reads the time of a property. @param zones the VTIMEZONE components of the calendar. */
export function readTime(property: CalendarProperty | null, zones: readonly CalendarComponent[]): CalendarTime | null {
  const match = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/.exec(property?.value.trim() ?? '');
  if (!property || !match) return null;
  const [, year, month, date, hour, minute, second, isUtc] = match;
  // `Date.UTC` converts a date that does not exist to a later one; such dates are rejected.
  const day = Date.UTC(Number(year), Number(month) - 1, Number(date));
  if (hour === undefined) return { local: toLocal(day).slice(0, 10), timeZone: null, at: null };
  const clock = day + (Number(hour) * 3_600 + Number(minute) * 60 + Number(second)) * 1_000;
  if (isUtc) return { local: toLocal(clock), timeZone: 'UTC', at: clock };
  const timeZone = property.parameters.get('TZID') ?? null;
  const offset =
    timeZone === null ? null : (readNamedOffset(timeZone, clock) ?? readRuledOffset(timeZone, clock, zones));
  return { local: toLocal(clock), timeZone, at: offset === null ? null : clock - offset };
}

const toLocal = (clock: number): string => new Date(clock).toISOString().slice(0, 19);

/** Adds a duration to a time. @param duration as in RFC 5545 §3.3.6. @returns null if it is invalid. */
export function addDuration(start: CalendarTime, duration: string): CalendarTime | null {
  const match = /^\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?$/.exec(
    duration.trim(),
  );
  if (!match) return null;
  const ms = DURATION_UNITS_MS.reduce((sum, unitMs, at) => sum + Number(match[at + 1] ?? 0) * unitMs, 0);
  const isDay = start.local.length === 10;
  const local = toLocal(Date.parse(isDay ? start.local : `${start.local}Z`) + ms);
  return { ...start, local: isDay ? local.slice(0, 10) : local, at: start.at === null ? null : start.at + ms };
}

/** @returns the offset from UTC in milliseconds at a local time; null if the name of the time zone is unknown. */
function readNamedOffset(timeZone: string, clock: number): number | null {
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
    });
    const offsetAt = (time: number): number => {
      const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
      return Date.parse(`${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}Z`) - time;
    };
    // The inner call guesses the offset; the outer one corrects it. Only a clock change between both times makes it wrong.
    return offsetAt(clock - offsetAt(clock));
  } catch {
    return null;
  }
}

interface Onset {
  readonly at: number;
  readonly offset: number;
}

/**
 * @returns the offset from UTC by the VTIMEZONE rules of the calendar. Needed for names that `Intl` does not know, such as "W.
 * Europe Standard Time".
 */
function readRuledOffset(timeZone: string, clock: number, zones: readonly CalendarComponent[]): number | null {
  const zone = zones.find((each) => findProperty(each, 'TZID')?.value === timeZone);
  if (!zone) return null;
  const onsets = zone.components.flatMap((each) => listOnsets(each, clock)).sort((a, b) => a.at - b.at);
  return (onsets.findLast(({ at }) => at <= clock) ?? onsets[0])?.offset ?? null;
}

/** Lists the starts of standard or daylight time in the year of a time and in the year before. */
function listOnsets(component: CalendarComponent, clock: number): Onset[] {
  const offset = readOffset(findProperty(component, 'TZOFFSETTO')?.value ?? '');
  const first = readTime(findProperty(component, 'DTSTART'), []);
  if (offset === null || first === null) return [];
  const firstAt = Date.parse(`${first.local}Z`);
  const rule = findProperty(component, 'RRULE')?.value.toUpperCase() ?? '';
  const month = Number(/BYMONTH=(\d{1,2})/.exec(rule)?.[1] ?? 0);
  const [, nth = '', weekday = ''] = /BYDAY=([+-]?\d)(SU|MO|TU|WE|TH|FR|SA)/.exec(rule) ?? [];
  if (month < 1 || month > 12 || weekday === '') return [{ at: firstAt, offset }];
  const year = new Date(clock).getUTCFullYear();
  const timeOfDay = ((firstAt % DAY_MS) + DAY_MS) % DAY_MS;
  const onsets = [year - 1, year].map(
    (each) => toNthWeekday(each, month - 1, Number(nth), WEEKDAYS.indexOf(weekday)) + timeOfDay,
  );
  return [...onsets.filter((at) => at >= firstAt), firstAt].map((at) => ({ at, offset }));
}

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/** @param nth which of these weekdays of the month; a negative number counts from the end of the month. */
function toNthWeekday(year: number, month: number, nth: number, weekday: number): number {
  if (nth > 0) {
    const first = Date.UTC(year, month, 1);
    return first + (((weekday - new Date(first).getUTCDay() + 7) % 7) + (nth - 1) * 7) * DAY_MS;
  }
  const last = Date.UTC(year, month + 1, 0);
  return last - (((new Date(last).getUTCDay() - weekday + 7) % 7) + (-nth - 1) * 7) * DAY_MS;
}

function readOffset(text: string): number | null {
  const match = /^([+-])(\d\d)(\d\d)(\d\d)?$/.exec(text.trim());
  if (!match) return null;
  const seconds = Number(match[2]) * 3_600 + Number(match[3]) * 60 + Number(match[4] ?? 0);
  return (match[1] === '-' ? -1 : 1) * seconds * 1_000;
}
