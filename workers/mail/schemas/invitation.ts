/** JSON schema of an event in an invitation. */
import { z } from '@hono/zod-openapi';
import { addressSchema } from './message.ts';

const timeSchema = z
  .object({
    local: z.string().openapi({
      description: 'The time in its time zone, or the date of a whole day.',
      example: '2026-11-05T10:30:00',
    }),
    time_zone: z.string().nullable().openapi({ example: 'Europe/Berlin' }),
    at: z.string().nullable().openapi({
      description: 'The same time in UTC. Null for a whole day, and if the time zone is unknown or absent.',
      example: '2026-11-05T09:30:00.000Z',
    }),
  })
  .openapi('CalendarTime');

export const invitationSchema = z
  .object({
    file_name: z.string().openapi({ example: 'invite.ics' }),
    method: z.string().nullable().openapi({
      description: 'request, cancel, reply, publish or another one of RFC 5546.',
      example: 'request',
    }),
    uid: z.string(),
    sequence: z.int(),
    status: z.string().nullable().openapi({ description: 'confirmed, tentative or cancelled.', example: 'confirmed' }),
    summary: z.string(),
    description: z.string(),
    location: z.string(),
    start: timeSchema,
    end: timeSchema
      .nullable()
      .openapi({ description: 'Not part of the event. Of whole days, the day after the last.' }),
    is_all_day: z.boolean(),
    recurrence: z.string().nullable().openapi({ description: 'The RRULE.', example: 'FREQ=WEEKLY;COUNT=4' }),
    organizer: addressSchema.nullable(),
    attendees: z.array(
      z.object({
        name: z.string(),
        email: z.string(),
        is_optional: z.boolean(),
        response: z.string().openapi({
          description: 'needs_action, accepted, declined, tentative, delegated or another one of RFC 5545.',
          example: 'accepted',
        }),
      }),
    ),
  })
  .openapi('Invitation');

export type InvitationAnswer = z.infer<typeof invitationSchema>;
