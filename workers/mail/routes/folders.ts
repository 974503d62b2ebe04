/** `/v1/folders`: folders and their messages. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
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
import { toMailProblem } from '../schemas/errors.ts';
import { folderSchema, summarySchema } from '../schemas/message.ts';
import { toFolderJson, toSummaryJson } from './message-json.ts';
import { folderParamSchema, openOwnMailbox, READ_ROUTE, readOwnMailbox, USER_ROUTE } from './route.ts';

const folderNameSchema = z
  .strictObject({
    name: z.string().min(1).max(1_000).openapi({ description: 'The whole path, with parts separated by "/".' }),
  })
  .openapi('FolderName');

const folderPatchSchema = folderNameSchema
  .partial()
  .extend({
    is_subscribed: z.boolean().optional().openapi({ description: 'Whether mail programs show the folder.' }),
  })
  .refine((patch) => Object.keys(patch).length > 0, 'must have name or is_subscribed')
  .openapi('FolderPatch');

const listQuerySchema = pageQuerySchema
  .extend({
    offset: z.coerce.number().int().min(0).max(1_000_000_000).optional().openapi({
      description:
        'Skip this many of the newest messages, to jump within a long folder. Replaces `cursor`; read the next page with `cursor`.',
    }),
  })
  .refine(({ cursor, offset }) => cursor === undefined || offset === undefined, {
    path: ['offset'],
    message: 'must not be sent with cursor',
  });

/** Reads a cursor. @returns the position before which to continue; null for the first page, undefined for an invalid cursor. */
export function readPositionCursor(cursor: string | undefined): number | null | undefined {
  if (cursor === undefined) return null;
  const [position] = decodeCursor(cursor) ?? [];
  return typeof position === 'number' ? position : undefined;
}

export function addFolders(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/folders',
      operationId: 'listFolders',
      summary: 'List folders with their counts',
      responses: { 200: jsonContent(z.array(folderSchema), 'Every folder'), ...problemResponses(401, 403, 503) },
    }),
    async (c) => {
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.listOwnFolders(proof));
      if (!found.ok) return sendProblem(c, found.error);
      const { user, value: folders } = found.value;
      return c.json(
        folders.map((row) => toFolderJson(row, user.userId)),
        200,
      );
    },
  );
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/folders/{folder_id}/messages',
      operationId: 'listFolderMessages',
      summary: 'List a folder’s messages, newest first',
      request: { params: folderParamSchema, query: listQuerySchema },
      responses: {
        200: jsonContent(pageSchema(summarySchema), 'A page'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const { limit, cursor, offset } = c.req.valid('query');
      const before = readPositionCursor(cursor);
      if (before === undefined) return sendProblem(c, INVALID_CURSOR);
      const place = before === null ? { offset: offset ?? 0 } : { before };
      const found = await readOwnMailbox(c, (mailbox, proof) =>
        mailbox.listOwnMessages(proof, c.req.valid('param').folder_id, place, limit + 1),
      );
      if (!found.ok) return sendProblem(c, found.error);
      const { user, value: messages } = found.value;
      const page = messages.slice(0, limit);
      const last = page.at(-1);
      return c.json(
        {
          data: page.map((message) => toSummaryJson(message, user.userId)),
          next_cursor: messages.length > limit && last ? encodeCursor([last.position]) : null,
        },
        200,
      );
    },
  );
  addFolderWrites(api);
}

function addFolderWrites(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/folders',
      operationId: 'createFolder',
      summary: 'Create a folder, with its missing parents',
      request: jsonBody(folderNameSchema),
      responses: { 201: jsonContent(folderSchema, 'The folder'), ...problemResponses(400, 401, 403, 409, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const made = await own.value.ask((mailbox) => mailbox.createFolder(c.req.valid('json').name));
      if (!made.ok) return sendProblem(c, made.error);
      return c.json(toFolderJson(made.value, own.value.user.userId), 201);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'patch',
      path: '/v1/folders/{folder_id}',
      operationId: 'renameFolder',
      summary: 'Rename one of your own folders, with its subfolders, or subscribe to a folder',
      request: { params: folderParamSchema, ...jsonBody(folderPatchSchema) },
      responses: { 200: jsonContent(folderSchema, 'The folder'), ...problemResponses(400, 401, 403, 404, 409, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { folder_id } = c.req.valid('param');
      const { name, is_subscribed: isSubscribed } = c.req.valid('json');
      const { ask, user } = own.value;
      const renamed = name === undefined ? null : await ask((mailbox) => mailbox.renameFolder(folder_id, name));
      if (renamed && !renamed.ok) return sendProblem(c, renamed.error);
      const folders = await ask((mailbox) => mailbox.listFolders());
      if (!folders.ok) return sendProblem(c, folders.error);
      const folder = folders.value.find((each) => each.folder_id === folder_id || each.role === folder_id);
      if (!folder) return sendProblem(c, toMailProblem({ kind: 'no_folder' }));
      if (isSubscribed !== undefined) await ask((mailbox) => mailbox.arrangeFolder(folder.folder_id, { isSubscribed }));
      return c.json(toFolderJson(renamed?.value ?? folder, user.userId), 200);
    },
  );
  addFolderRemovals(api);
}

function addFolderRemovals(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'delete',
      path: '/v1/folders/{folder_id}',
      operationId: 'deleteFolder',
      summary: 'Delete one of your own folders and move its mail to Trash',
      request: { params: folderParamSchema },
      responses: { 204: { description: 'Deleted' }, ...problemResponses(401, 403, 404, 409, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const deleted = await own.value.ask((mailbox) => mailbox.deleteFolder(c.req.valid('param').folder_id));
      return deleted.ok ? c.body(null, 204) : sendProblem(c, deleted.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/folders/{folder_id}/empty',
      operationId: 'emptyFolder',
      summary: 'Permanently delete everything in Junk or Trash',
      request: { params: folderParamSchema },
      responses: {
        200: jsonContent(z.object({ erased: z.int() }), 'How many messages were deleted'),
        ...problemResponses(401, 403, 404, 409, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const erased = await own.value.ask((mailbox) => mailbox.emptyFolder(c.req.valid('param').folder_id));
      return erased.ok ? c.json({ erased: erased.value }, 200) : sendProblem(c, erased.error);
    },
  );
}
