/** `POST /v1/import` and `GET /v1/export`: imports and exports mail as files. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { ExportedMessage } from '../../../durable-objects/mail/contract/messages.ts';

import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  rawBody,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { readLimited, readUpload } from '../../shared/json/limited-body.ts';
import { problem } from '../../shared/json/problem.ts';
import type { Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { getBlob } from '../bindings/blobs.ts';
import { type MailboxRpc, openMailbox } from '../bindings/mailbox.ts';
import { formatMbox } from '../domain/mbox.ts';
import { IMPORTED_MESSAGE_BYTES_MAX, importMbox, importMessage } from '../inbound/process/import-mail.ts';
import { toMailProblem } from '../schemas/errors.ts';
import { requireConfirmed, SESSION_ROUTE } from './confirmed.ts';
import { openOwnMailbox, USER_ROUTE } from './route.ts';

const EXPORTED_PER_PAGE = 50;
const MESSAGE_TOO_LARGE = problem(413, 'too_large', `A message may have at most ${IMPORTED_MESSAGE_BYTES_MAX} bytes.`);
const reportSchema = z
  .object({
    messages: z.int(),
    imported: z.int(),
    duplicates: z.int(),
    failed: z.int(),
    remaining: z.int().openapi({ description: 'Messages not read. Send the same file again until this is 0.' }),
    size_bytes: z.int().openapi({ description: 'Bytes of the file: the sum of the five counts that follow.' }),
    imported_bytes: z.int(),
    duplicate_bytes: z.int(),
    failed_bytes: z.int(),
    remaining_bytes: z.int(),
    skipped_bytes: z.int().openapi({ description: 'Bytes before the first message that are not a message.' }),
    failures: z
      .array(z.object({ index: z.int(), code: z.string(), offset: z.int(), size_bytes: z.int() }))
      .openapi({ description: 'The first 100 messages that were refused, with their bytes in the file.' }),
  })
  .openapi('ImportReport');

const NO_MESSAGES = problem(
  400,
  'no_messages',
  'No message found. In an mbox file, a line that begins with "From " is before each message.',
);

export function addTransfer(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/import',
      operationId: 'importMail',
      summary: 'Import mbox (application/mbox) or one message (message/rfc822); the body is the file',
      description:
        'Messages that exist already are not added again, so an interrupted import can be repeated whole. A request stores a few thousand messages; send a longer file again until `remaining` is 0.',
      request: {
        ...rawBody('application/mbox', 'message/rfc822'),
        query: z.strictObject({ folder_id: z.string().max(100).default('inbox') }),
      },
      responses: {
        200: jsonContent(reportSchema, 'The import report'),
        ...problemResponses(400, 401, 403, 404, 413, 415, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { userId } = own.value.user;
      const { folder_id } = c.req.valid('query');
      const folders = await own.value.ask((mailbox) => mailbox.listFolders());
      if (!folders.ok) return sendProblem(c, folders.error);
      const folder = folders.value.find((row) => row.folder_id === folder_id || row.role === folder_id);
      if (!folder || folder.role === 'all' || folder.role === 'flagged') {
        return sendProblem(c, toMailProblem({ kind: 'no_folder' }));
      }
      const options = { folder: folder.folder_id, now: createClock(c.env)() };
      const type = (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
      const body = readUpload(c.req.raw.body as ReadableStream<Uint8Array> | null);
      if (type === 'application/mbox') {
        const report = await importMbox(c.env, userId, body, options);
        return report.messages === 0 && report.size_bytes > 0 ? sendProblem(c, NO_MESSAGES) : c.json(report, 200);
      }
      if (type !== 'message/rfc822') {
        return sendProblem(c, problem(415, 'unsupported_type', 'Send application/mbox or message/rfc822.'));
      }
      const isTooLarge = Number(c.req.header('content-length') ?? 0) > IMPORTED_MESSAGE_BYTES_MAX;
      const raw = isTooLarge ? null : await readLimited(body, IMPORTED_MESSAGE_BYTES_MAX);
      if (raw === null || raw.length > IMPORTED_MESSAGE_BYTES_MAX) return sendProblem(c, MESSAGE_TOO_LARGE);
      return c.json(await importMessage(c.env, userId, raw, options), 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/export',
      operationId: 'exportMail',
      summary: 'Download all messages as mbox, oldest first, with dates, flags, labels and folders',
      description:
        'A download that ends before its last chunk is truncated. Remove what follows its last complete message, request the rest with `after`, and append it.',
      request: {
        query: z.strictObject({
          folder_id: z.string().max(100).optional(),
          after: z.string().max(100).optional().openapi({
            description: 'Continue after this message: the last `X-Tessera-Id` of a truncated download.',
          }),
        }),
      },
      responses: {
        200: { description: 'mbox', content: { 'application/mbox': { schema: z.string() } } },
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const confirmed = await requireConfirmed(c, {});
      if (!confirmed.ok) return sendProblem(c, confirmed.error);
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      await recordAudit(c, 'mailbox.export', { type: 'user', id: own.value.user.userId });
      const { folder_id, after } = c.req.valid('query');
      const begin = await own.value.ask((mailbox) => mailbox.listForExport(folder_id ?? null, after ?? null, null, 1));
      if (!begin.ok) return sendProblem(c, begin.error);
      const mailbox = openMailbox(c.env, own.value.user.userId);
      return unchecked(
        new Response(exportMessages(c.env, mailbox, folder_id ?? null, after ?? null), {
          headers: {
            'content-type': 'application/mbox',
            'content-disposition': 'attachment; filename="mail.mbox"',
            'content-security-policy': 'sandbox',
            'x-content-type-options': 'nosniff',
          },
        }),
      );
    },
  );
}

/** Exports page after page as fast as the reader reads. Only one message is in memory at a time. */
function exportMessages(env: Env, mailbox: MailboxRpc, folder: string | null, after: string | null): ReadableStream {
  async function* pieces() {
    let position: number | null = null;
    for (;;) {
      const page: Result<ExportedMessage[], unknown> = await mailbox.listForExport(
        folder,
        after,
        position,
        EXPORTED_PER_PAGE,
      );
      if (!page.ok || page.value.length === 0) return;
      for (const message of page.value) {
        position = message.position;
        const blob = await getBlob(env, message.rawKey);
        if (!blob) throw new Error(`a raw message is missing in every location: ${message.rawKey}`);
        const raw = new Uint8Array(await blob.arrayBuffer());
        yield formatMbox(raw, message, message);
      }
    }
  }
  const source = pieces();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await source.return();
    },
  });
}
