/**
 * Periods of a chosen length: every N hours, days, weeks or months from a start, in a time zone, until an end. Days, weeks and months keep the local
 * time of the start. A local time that does not exist, because the clock is set forward, is later by the gap. Of a local time that comes twice, the first
 * counts. Hours are hours that pass. Times are milliseconds since 1970.
 */
export interface SeasonTimes {
  /** Start of the season in milliseconds since 1970, inclusive. */
  readonly startsAt: number;
  /** End of the season in milliseconds since 1970, exclusive. */
  readonly endsAt: number;
}

export const UNITS = ['hour', 'day', 'week', 'month'] as const;

export interface ScheduleRules {
  readonly every: number;
  readonly unit: (typeof UNITS)[number];
  /** Start of the first period, a whole second. */
  readonly startsAt: number;
  /** Name of the IANA database, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** End of the last period; null without one. */
  readonly endsAt: number | null;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Mean length of a unit. */
const UNIT_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30.436875 * DAY_MS };

/** Whether the platform knows a time zone. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

export class SeasonSchedule {
  readonly rules: ScheduleRules;
  #format: Intl.DateTimeFormat | undefined;
  /** The period that was asked for last. */
  #last: SeasonTimes | undefined;

  constructor(rules: ScheduleRules) {
    this.rules = rules;
  }

  /** The period at a time: the first one before the start, and the last one after the end. */
  periodAt(at: number): SeasonTimes {
    if (this.#last !== undefined && this.#last.startsAt <= at && at < this.#last.endsAt) return this.#last;
    this.#last = this.#findPeriod(at);
    return this.#last;
  }

  #findPeriod(at: number): SeasonTimes {
    const { startsAt, endsAt: end, every, unit } = this.rules;
    const within = Math.max(startsAt, end === null ? at : Math.min(at, end - 1));
    let number = Math.max(0, Math.floor((within - startsAt) / (every * UNIT_MS[unit])));
    while (number > 0 && this.#startOf(number) > within) number--;
    while (this.#startOf(number + 1) <= within) number++;
    const endsAt = this.#startOf(number + 1);
    return { startsAt: this.#startOf(number), endsAt: end === null ? endsAt : Math.min(end, endsAt) };
  }

  /** Start of the period with a number, from 0 on. */
  #startOf(number: number): number {
    const { startsAt, every, unit } = this.rules;
    const units = number * every;
    if (unit === 'hour' || units === 0) return startsAt + units * HOUR_MS;
    const local = this.#toLocal(startsAt);
    if (unit !== 'month') return this.#toTime(local + units * UNIT_MS[unit]);
    const first = new Date(local);
    const [year, month] = [first.getUTCFullYear(), first.getUTCMonth() + units];
    const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
    return this.#toTime(Date.UTC(year, month, Math.min(first.getUTCDate(), lastDay)) + (local % DAY_MS));
  }

  /** The local time at a time, as if it were UTC. */
  #toLocal(at: number): number {
    this.#format ??= new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: this.rules.timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
    const parts = new Map(this.#format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  }

  /** The time of a local time: of two, the first; of none, the local time later by the gap. */
  #toTime(local: number): number {
    const offsetAt = (at: number) => this.#toLocal(at) - at;
    const [before, after] = [local - offsetAt(local - DAY_MS), local - offsetAt(local + DAY_MS)];
    const found = [before, after].filter((at) => this.#toLocal(at) === local);
    return found.length === 0 ? before : Math.min(...found);
  }
}
