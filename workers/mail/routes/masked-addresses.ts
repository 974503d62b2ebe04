/** `/v1/me/masked-addresses`: addresses that the caller gives away, one for each shop or list, and ends with one call. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireMailUser } from '../../identity/index.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { changeMasked, createMasked } from '../accounts/masked-addresses.ts';
import { CHOSEN_STATES } from '../domain/masked-state.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import { maskedNoteSchema, maskedOriginSchema, maskedSchema } from '../schemas/masked.ts';
import type { MaskedAddress } from '../store/masked-store.ts';
import { listMasked } from '../store/masked-store.ts';
import { toTime, USER_ROUTE } from './route.ts';

const toJson = (row: MaskedAddress) => ({
  email: row.email,
  state: row.state,
  note: row.note,
  for_domain: row.forDomain,
  created_by: row.createdBy,
  created_at: toTime(row.createdAt),
  last_message_at: row.lastMessageAt === null ? null : toTime(row.lastMessageAt),
});
const tooMany = (max: number): Problem =>
  problem(409, 'too_many', `An account may have at most ${max} masked addresses, ended ones included.`);
const NO_DOMAIN = problem(404, 'no_such_domain', 'The domain of the account is not hosted here.');

export function addMaskedAddresses(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/me/masked-addresses',
      operationId: 'listMaskedAddresses',
      summary: 'List your masked addresses, newest first, with those that were ended',
      responses: { 200: jsonContent(z.array(maskedSchema), 'All of them'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireMailUser(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      return c.json((await listMasked(c.env, caller.value.userId)).map(toJson), 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/me/masked-addresses',
      operationId: 'createMaskedAddress',
      summary: 'Make an address to give away: two words and four digits at the domain of the account',
      request: jsonBody(
        z.strictObject({ note: maskedNoteSchema.default(''), for_domain: maskedOriginSchema.default('') }),
      ),
      responses: { 201: jsonContent(maskedSchema, 'The address'), ...problemResponses(400, 401, 403, 404, 409) },
    }),
    async (c) => {
      const caller = await requireMailUser(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { note, for_domain: forDomain } = c.req.valid('json');
      const request = { state: 'enabled', note, forDomain, url: null, prefix: null } as const;
      const made = await createMasked(c.env, caller.value, request);
      if (!made.ok) return sendProblem(c, made.error.kind === 'too_many' ? tooMany(made.error.max) : NO_DOMAIN);
      return c.json(toJson(made.value), 201);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'patch',
      path: '/v1/me/masked-addresses/{email}',
      operationId: 'changeMaskedAddress',
      summary: 'Change the note of a masked address, end it or open it again',
      description:
        'deleted: mail to it is refused at SMTP, and none can be sent from it. disabled: mail goes to Trash. enabled: it is open again.',
      request: {
        params: z.object({ email: z.string().max(320) }),
        ...jsonBody(z.strictObject({ state: z.enum(CHOSEN_STATES).optional(), note: maskedNoteSchema.optional() })),
      },
      responses: { 200: jsonContent(maskedSchema, 'The address'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireMailUser(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { state, note } = c.req.valid('json');
      const change = { ...(state === undefined ? {} : { state }), ...(note === undefined ? {} : { note }) };
      const email = c.req.valid('param').email.toLowerCase();
      const changed = await changeMasked(c.env, caller.value.userId, email, change);
      return changed ? c.json(toJson(changed), 200) : sendProblem(c, NOT_FOUND);
    },
  );
}
