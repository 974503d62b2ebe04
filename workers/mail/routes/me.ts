/** `/v1/me`: the profile of the caller. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { createLoginStore, requireMailUser } from '../../identity/index.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { reachMailbox } from '../accounts/credentials.ts';
import { nameSchema, profileSchema } from '../schemas/account.ts';
import { readProfile } from './profile.ts';
import { openOwnMailbox, USER_ROUTE } from './route.ts';

const profilePatchSchema = z
  .strictObject({ name: nameSchema.optional(), signature: z.string().max(10_000).optional() })
  .openapi('ProfilePatch');

export function addMe(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/me',
      operationId: 'getOwnAccount',
      summary: 'Read your profile and quota',
      responses: { 200: jsonContent(profileSchema, 'The profile'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireMailUser(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const profile = await readProfile(c.env, caller.value.userId);
      return profile.ok ? c.json(profile.value, 200) : sendProblem(c, profile.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'patch',
      path: '/v1/me',
      operationId: 'updateOwnAccount',
      summary: 'Change your name or signature',
      request: jsonBody(profilePatchSchema),
      responses: { 200: jsonContent(profileSchema, 'The profile'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { name, signature } = c.req.valid('json');
      const { userId } = own.value.user;
      if (signature !== undefined) {
        const written = await own.value.ask((mailbox) => mailbox.writeSettings({ signature }));
        if (!written.ok) return sendProblem(c, written.error);
      }
      if (name !== undefined) {
        await createLoginStore(userDatabaseOf(c.env, userId)).renameUser(userId, name);
        await reachMailbox(c.env, userId, (mailbox) => mailbox.renameHolder(name));
      }
      const profile = await readProfile(c.env, userId);
      return profile.ok ? c.json(profile.value, 200) : sendProblem(c, profile.error);
    },
  );
}
