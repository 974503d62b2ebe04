/** The times that snoozing offers. Pure. */

export interface SnoozeTime {
  name: 'today' | 'tomorrow' | 'weekend' | 'week';
  at: Date;
}

const MORNING = 8;
const EVENING = 18;
const SATURDAY = 6;
const MONDAY = 1;

const at = (now: Date, days: number, hour: number): Date =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);

/** Number of days from now to the next such weekday, from 1 to 7: today does not count. */
const daysUntil = (now: Date, weekday: number): number => ((weekday - now.getDay() + 6) % 7) + 1;

/** Lists the offered times in ascending order, without times that are less than an hour away or equal to another one. */
export function listSnoozeTimes(now: Date): SnoozeTime[] {
  const all: SnoozeTime[] = [
    { name: 'today', at: at(now, 0, EVENING) },
    { name: 'tomorrow', at: at(now, 1, MORNING) },
    { name: 'weekend', at: at(now, daysUntil(now, SATURDAY), MORNING) },
    { name: 'week', at: at(now, daysUntil(now, MONDAY), MORNING) },
  ];
  const taken = new Set<number>();
  return all
    .filter((one) => {
      const isNew = one.at.getTime() - now.getTime() >= 3_600_000 && !taken.has(one.at.getTime());
      taken.add(one.at.getTime());
      return isNew;
    })
    .toSorted((a, b) => a.at.getTime() - b.at.getTime());
}
