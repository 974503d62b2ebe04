/** `GET /v1/messages/{message_id}/invitation`: the event of an invitation by mail. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { StoredAttachment } from '../../../durable-objects/mail/contract/delivered-message.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import type { CalendarTime } from '../domain/calendar-time.ts';
import { type Invitation, readInvitation } from '../domain/invitation.ts';
import { readAttachment } from '../inbound/process/stored-attachment.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import { invitationSchema } from '../schemas/invitation.ts';
import { messageParamSchema, READ_ROUTE, readOwnMailbox, toTime } from './route.ts';

const CALENDAR_BYTES_MAX = 1_000_000;
/**
 * Maximum of calendar files that are tried. A message often has the same invitation twice: in an alternative part and as a file.
 */
const FILES_MAX = 3;

export function addInvitation(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/messages/{message_id}/invitation',
      operationId: 'getInvitation',
      summary: 'Read the event that a message invites to',
      description: 'The first event of a text/calendar attachment of up to 1 MB. 404 if the message has none.',
      request: { params: messageParamSchema },
      responses: { 200: jsonContent(invitationSchema, 'The event'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const { message_id } = c.req.valid('param');
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.readOwnMessage(proof, message_id));
      if (!found.ok) return sendProblem(c, found.error);
      const { attachments, rawKey } = found.value.value;
      for (const file of attachments.filter(isCalendar).slice(0, FILES_MAX)) {
        const chunks: Uint8Array[] = [];
        for await (const chunk of await readAttachment(c.env, rawKey, file)) chunks.push(chunk);
        const invitation = readInvitation(Buffer.concat(chunks).toString());
        if (invitation) return c.json(toJson(invitation, file.fileName), 200);
      }
      return sendProblem(c, NOT_FOUND);
    },
  );
}

const isCalendar = ({ contentType, fileName, sizeBytes }: StoredAttachment): boolean =>
  sizeBytes <= CALENDAR_BYTES_MAX &&
  (/^(?:text\/calendar|application\/ics)\b/i.test(contentType) || /\.ics$/i.test(fileName));

const toJson = (invitation: Invitation, fileName: string) => {
  const { isAllDay, start, end, attendees, ...same } = invitation;
  return {
    ...same,
    file_name: fileName,
    start: toTimeJson(start),
    end: end && toTimeJson(end),
    is_all_day: isAllDay,
    attendees: attendees.map(({ isOptional, ...attendee }) => ({ ...attendee, is_optional: isOptional })),
  };
};

const toTimeJson = ({ local, timeZone, at }: CalendarTime) => ({
  local,
  time_zone: timeZone,
  at: at === null ? null : toTime(at),
});
