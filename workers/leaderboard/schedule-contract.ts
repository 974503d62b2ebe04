/** Schema of the schedule of a board. */
import { z } from '@hono/zod-openapi';
import { isTimeZone, UNITS } from './domain/schedule.ts';

/** The longest season has 1,000 months, so no season ends after the year 9999: labels of seasons have years of four digits. */
const LATEST = Date.UTC(3000, 0);

const timeSchema = z.iso
  .datetime({ offset: true })
  .refine((time) => Date.parse(time) % 1000 === 0, 'must be a whole second')
  .refine((time) => Date.parse(time) < LATEST, 'must be before the year 3000')
  .openapi({ type: 'string', format: 'date-time' });

/** Periods of a chosen length. */
export const scheduleSchema = z
  .strictObject({
    every: z.int().min(1).max(1_000).openapi({ description: 'Length of a season, in units' }),
    unit: z.enum(UNITS),
    starts_at: timeSchema.openapi({
      description: 'Start of the first season. Days, weeks and months keep its local time',
    }),
    time_zone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'must be a name of the IANA database, such as Europe/Berlin')
      .default('UTC')
      .openapi({ example: 'Europe/Berlin' }),
    ends_at: timeSchema.nullable().default(null).openapi({ description: 'End of the last season; null without one' }),
  })
  .openapi('Schedule');
