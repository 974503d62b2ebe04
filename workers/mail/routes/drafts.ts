/** `/v1/drafts` and `POST /v1/attachments`: drafts, and uploads for messages that are being written. */

import { randomUUID } from 'node:crypto';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Draft, DraftContent, Upload } from '../../../durable-objects/mail/contract/drafts.ts';

import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  rawBody,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { readUpload } from '../../shared/json/limited-body.ts';
import { problem } from '../../shared/json/problem.ts';
import { readLimits } from '../bindings/account-limits.ts';
import { deleteBlobs, putBlobStream, userPrefix } from '../bindings/blobs.ts';
import { cleanFileName } from '../domain/attachment-name.ts';
import { toAddress } from '../domain/email-address.ts';
import { cleanDraftHtml, cleanHtml } from '../mime/clean-html.ts';
import {
  type DraftAnswer,
  type DraftRequest,
  draftAnswerSchema,
  draftSchema,
  lineSchema,
  uploadSchema,
} from '../schemas/draft.ts';
import { toMailProblem } from '../schemas/errors.ts';
import { openOwnMailbox, READ_ROUTE, readOwnMailbox, toTime, USER_ROUTE } from './route.ts';

const draftParamSchema = z.object({ draft_id: z.string().max(100) });
const ifMatchSchema = z.object({
  'if-match': z
    .string()
    .regex(/^(?:\*|"?\d{1,15}"?)$/, 'Must be a revision of the draft, or *.')
    .optional()
    .openapi({
      description: 'The revision that was read. If the draft has changed since, the answer is 412 and nothing changes.',
    }),
});
const toContent = (request: DraftRequest): DraftContent => ({
  from: request.from ? toAddress(request.from) : null,
  to: request.to.map(toAddress),
  cc: request.cc.map(toAddress),
  bcc: request.bcc.map(toAddress),
  replyTo: request.reply_to.map(toAddress),
  subject: request.subject,
  body: request.body,
  html: request.html == null ? null : cleanDraftHtml(request.html),
  attachmentIds: [...new Set(request.attachments.map((attachment) => attachment.attachment_id))],
  inReplyTo: request.in_reply_to ?? null,
  references: request.references,
  headers: request.headers ?? [],
  importance: request.importance ?? 'normal',
  forwardOf: request.forward_of ?? null,
});

const toUploadJson = (upload: Upload) => ({
  attachment_id: upload.attachmentId,
  file_name: upload.fileName,
  size: upload.sizeBytes,
  content_type: upload.contentType,
});

const toDraftJson = ({ messageId, revision, updatedAt, content, attachments }: Draft): DraftAnswer => ({
  id: messageId,
  refusal: content.refusal ?? null,
  revision,
  updated_at: toTime(updatedAt),
  from: content.from,
  to: [...content.to],
  cc: [...content.cc],
  bcc: [...content.bcc],
  reply_to: [...(content.replyTo ?? [])],
  subject: content.subject,
  body: content.body,
  // Drafts of earlier versions were stored as they were sent.
  html: content.html === null ? null : cleanDraftHtml(content.html),
  attachments: attachments.map(toUploadJson),
  in_reply_to: content.inReplyTo,
  references: [...content.references],
  headers: [...(content.headers ?? [])],
  importance: content.importance ?? 'normal',
  forward_of: content.forwardOf ?? null,
});

export function addDrafts(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/drafts',
      operationId: 'createDraft',
      summary: 'Create a draft',
      request: jsonBody(draftSchema),
      responses: { 201: jsonContent(draftAnswerSchema, 'The draft'), ...problemResponses(400, 401, 403, 413, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const content = toContent(c.req.valid('json'));
      const cleaned = content.html === null ? null : cleanHtml(content.html);
      const made = await own.value.ask((mailbox) => mailbox.createDraft(content, cleaned));
      return made.ok ? c.json(toDraftJson(made.value), 201) : sendProblem(c, made.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'put',
      path: '/v1/drafts/{draft_id}',
      operationId: 'replaceDraft',
      summary: 'Replace the whole content of a draft, under the same id',
      request: { params: draftParamSchema, headers: ifMatchSchema, ...jsonBody(draftSchema) },
      responses: {
        200: jsonContent(draftAnswerSchema, 'The draft'),
        ...problemResponses(400, 401, 403, 404, 412, 413, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const content = toContent(c.req.valid('json'));
      const cleaned = content.html === null ? null : cleanHtml(content.html);
      const wanted = /\d+/.exec(c.req.valid('header')['if-match'] ?? '');
      const revision = wanted ? Number(wanted[0]) : null;
      const { draft_id } = c.req.valid('param');
      const saved = await own.value.ask((mailbox) => mailbox.replaceDraft(draft_id, content, cleaned, revision));
      return saved.ok ? c.json(toDraftJson(saved.value), 200) : sendProblem(c, saved.error);
    },
  );
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/drafts/{draft_id}',
      operationId: 'getDraft',
      summary: 'Read a draft',
      request: { params: draftParamSchema },
      responses: { 200: jsonContent(draftAnswerSchema, 'The draft'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const { draft_id } = c.req.valid('param');
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.readOwnDraft(proof, draft_id));
      return found.ok ? c.json(toDraftJson(found.value.value), 200) : sendProblem(c, found.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'delete',
      path: '/v1/drafts/{draft_id}',
      operationId: 'deleteDraft',
      summary: 'Delete a draft, with its files',
      request: { params: draftParamSchema },
      responses: { 204: { description: 'Deleted' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const gone = await own.value.ask((mailbox) => mailbox.deleteDraft(c.req.valid('param').draft_id));
      return gone.ok ? c.body(null, 204) : sendProblem(c, gone.error);
    },
  );
  addUploads(api);
}

function addUploads(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/attachments',
      operationId: 'uploadAttachment',
      summary: 'Upload a file for a message; the body is its raw bytes',
      request: {
        ...rawBody('*/*'),
        query: z.strictObject({ file_name: lineSchema(1_000).min(1) }),
        headers: z.object({
          'content-length': z
            .string()
            .optional()
            .openapi({ description: 'Required, because an upload needs a known length.' }),
          'content-type': z.string().max(200).optional(),
        }),
      },
      responses: { 201: jsonContent(uploadSchema, 'The upload'), ...problemResponses(400, 401, 403, 409, 413, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const sizeBytes = Number(c.req.header('content-length') ?? Number.NaN);
      if (!Number.isSafeInteger(sizeBytes)) {
        return sendProblem(c, problem(400, 'length_required', 'Content-Length is required.'));
      }
      const profile = await own.value.ask((mailbox) => mailbox.readProfile());
      if (!profile.ok) return sendProblem(c, profile.error);
      const { usedBytes, limitBytes, accountType, userId } = profile.value;
      const { attachmentBytes } = readLimits(c.env, accountType);
      if (sizeBytes > attachmentBytes) {
        const detail = `The files of a message may have at most ${attachmentBytes} bytes; this one has ${sizeBytes}.`;
        return sendProblem(c, problem(413, 'attachment_too_large', detail));
      }
      if (usedBytes + sizeBytes > limitBytes) {
        return sendProblem(c, toMailProblem({ kind: 'over_quota', usedBytes, limitBytes }));
      }
      const contentType = (c.req.header('content-type') ?? 'application/octet-stream').toLowerCase();
      const attachmentId = randomUUID();
      const upload: Upload = {
        attachmentId,
        fileName: cleanFileName(c.req.valid('query').file_name, contentType),
        contentType,
        sizeBytes,
        r2Key: `${userPrefix(userId)}upload/${attachmentId}`,
      };
      const body = c.req.raw.body as ReadableStream<Uint8Array> | null;
      await putBlobStream(c.env, upload.r2Key, readUpload(body), sizeBytes);
      const stored = await own.value.ask((mailbox) => mailbox.insertUpload(upload));
      if (stored.ok) return c.json(toUploadJson(stored.value), 201);
      await deleteBlobs(c.env, [upload.r2Key]);
      return sendProblem(c, stored.error);
    },
  );
}
