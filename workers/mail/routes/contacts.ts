/** `/v1/contacts`: the caller's address book. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Contact, ContactCursor } from '../../../durable-objects/mail/contract/contacts.ts';

import {
  decodeCursor,
  encodeCursor,
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { contactAnswerSchema, contactSchema } from '../schemas/filter.ts';
import { openOwnMailbox, READ_ROUTE, readOwnMailbox, toTime, USER_ROUTE } from './route.ts';

const paramSchema = z.object({ contact_id: z.string().max(100) });
const querySchema = pageQuerySchema.extend({
  q: z
    .string()
    .max(200)
    .default('')
    .openapi({ description: 'Prefix of the address, the name, or a word of the name, for completion.' }),
});

const toContactJson = (contact: Contact) => ({
  id: contact.contactId,
  name: contact.name,
  email: contact.email,
  note: contact.note,
  is_saved: contact.isSaved,
  sent_count: contact.sentCount,
  last_sent_at: contact.lastSentAt === null ? null : toTime(contact.lastSentAt),
});

function readCursor(cursor: string | undefined): ContactCursor | null | undefined {
  if (cursor === undefined) return null;
  const [sentCount, email] = decodeCursor(cursor) ?? [];
  return typeof sentCount === 'number' && typeof email === 'string' ? { sentCount, email } : undefined;
}

export function addContacts(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/contacts',
      operationId: 'listContacts',
      summary: 'List contacts, most written-to first',
      request: { query: querySchema },
      responses: {
        200: jsonContent(pageSchema(contactAnswerSchema), 'A page'),
        ...problemResponses(400, 401, 403, 503),
      },
    }),
    async (c) => {
      const { q, limit, cursor } = c.req.valid('query');
      const after = readCursor(cursor);
      if (after === undefined) return sendProblem(c, INVALID_CURSOR);
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.listOwnContacts(proof, q, after, limit + 1));
      if (!found.ok) return sendProblem(c, found.error);
      const { value: contacts } = found.value;
      const page = contacts.slice(0, limit);
      const last = page.at(-1);
      const next_cursor = contacts.length > limit && last ? encodeCursor([last.sentCount, last.email]) : null;
      return c.json({ data: page.map(toContactJson), next_cursor }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/contacts',
      operationId: 'createContact',
      summary: 'Save a contact',
      request: jsonBody(contactSchema),
      responses: { 201: jsonContent(contactAnswerSchema, 'The contact'), ...problemResponses(400, 401, 403, 409, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const made = await own.value.ask((mailbox) => mailbox.insertContact(c.req.valid('json')));
      return made.ok ? c.json(toContactJson(made.value), 201) : sendProblem(c, made.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'put',
      path: '/v1/contacts/{contact_id}',
      operationId: 'replaceContact',
      summary: 'Change a contact',
      request: { params: paramSchema, ...jsonBody(contactSchema) },
      responses: {
        200: jsonContent(contactAnswerSchema, 'The contact'),
        ...problemResponses(400, 401, 403, 404, 409, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { contact_id } = c.req.valid('param');
      const saved = await own.value.ask((mailbox) => mailbox.replaceContact(contact_id, c.req.valid('json')));
      return saved.ok ? c.json(toContactJson(saved.value), 200) : sendProblem(c, saved.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'delete',
      path: '/v1/contacts/{contact_id}',
      operationId: 'deleteContact',
      summary: 'Delete a contact',
      request: { params: paramSchema },
      responses: { 204: { description: 'Forgotten' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const gone = await own.value.ask((mailbox) => mailbox.deleteContact(c.req.valid('param').contact_id));
      return gone.ok ? c.body(null, 204) : sendProblem(c, gone.error);
    },
  );
}
