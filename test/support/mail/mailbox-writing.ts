/** Random operations of writing messages: uploads, drafts, sending and undoing. */

import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { DraftContent } from '../../../durable-objects/mail/contract/drafts.ts';

import { dropOldUploads } from '../../../durable-objects/mail/messages/upload-store.ts';
import { deleteBlobs, putBlob, userPrefix } from '../../../workers/mail/bindings/blobs.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { LIMIT_BYTES, type Model, type ModelMessage, type Threaded } from './mailbox-model.ts';
import { addMessage, atTime, DAY_MS, nth, type Operation, put, small, text, toId, value } from './mailbox-world.ts';

const upload = fc.integer({ min: 1, max: 8_000 }).map(
  (sizeBytes): Operation =>
    async ({ userId, mailbox, model }) => {
      const attachmentId = crypto.randomUUID();
      const r2Key = `${userPrefix(userId)}upload/${attachmentId}`;
      await putBlob(env, r2Key, 'x'.repeat(sizeBytes));
      const kept = await mailbox.insertUpload({
        attachmentId,
        fileName: 'a.bin',
        contentType: 'text/plain',
        sizeBytes,
        r2Key,
      });
      expect(kept.ok).toBe(model.usedBytes + sizeBytes <= LIMIT_BYTES);
      if (kept.ok) model.uploads.push({ id: attachmentId, sizeBytes, holder: null });
      else await deleteBlobs(env, [r2Key]);
    },
);

/** Runs the alarm's clean-up at a time two days later. It drops uploads that no draft uses. */
const dropUploads = fc.constant<Operation>(async (world) => {
  await atTime(world, Date.now() + 2 * DAY_MS, dropOldUploads);
  world.model.uploads = world.model.uploads.filter(({ holder }) => holder !== null);
});

const writing = fc.record({ text, uploads: fc.array(small, { maxLength: 3 }) });
type Writing = typeof writing extends fc.Arbitrary<infer T> ? T : never;

const toContent = (model: Model, { text, uploads }: Writing): DraftContent => ({
  from: null,
  to: [],
  cc: [],
  bcc: [],
  subject: text.subject,
  body: text.words.join(' '),
  html: null,
  attachmentIds: uploads.flatMap((n) => nth(model.uploads, n)?.id ?? []),
  inReplyTo: null,
  references: text.parents.map(toId),
});

/** Returns whether the mailbox must accept a draft with this content, as a new draft or in place of `replaced`. */
function maySave(model: Model, content: DraftContent, replaced: ModelMessage | null): boolean {
  const isForeign = model.uploads.some(
    ({ id, holder }) => content.attachmentIds.includes(id) && holder !== null && holder !== replaced?.id,
  );
  const sizeBytes = Buffer.byteLength(JSON.stringify(content));
  return !isForeign && model.usedBytes - (replaced?.sizeBytes ?? 0) + sizeBytes <= LIMIT_BYTES;
}

function hold(model: Model, draftId: string, ids: readonly string[]): void {
  for (const each of model.uploads) {
    if (ids.includes(each.id)) each.holder = draftId;
    else if (each.holder === draftId) each.holder = null;
  }
}

const toThreaded = ({ subject, references }: DraftContent): Threaded => ({
  ids: [...new Set([...references].reverse())],
  namesParent: references.length > 0,
  subject,
  receivedAt: null,
});

/** Adds a new draft to the model. */
function addDraft(model: Model, id: string, content: DraftContent, words: readonly string[]): void {
  const threaded = toThreaded(content);
  model.messages.push({
    id,
    origin: 'draft',
    folder: model.role('drafts'),
    isRead: true,
    isFlagged: false,
    labels: [],
    sizeBytes: Buffer.byteLength(JSON.stringify(content)),
    words,
    hasFile: content.attachmentIds.length > 0,
    receivedAt: null,
    thread: model.assign(threaded),
    threaded,
    rawSha256: null,
    revision: 1,
    isHeld: false,
    fileBytes: [],
  });
  hold(model, id, content.attachmentIds);
}

const makeDraft = writing.map(
  (given): Operation =>
    async ({ mailbox, model }) => {
      const content = toContent(model, given);
      const made = await mailbox.createDraft(content, null);
      expect(made.ok).toBe(maySave(model, content, null));
      if (made.ok) addDraft(model, made.value.messageId, content, given.text.words);
    },
);

const draftsOf = (model: Model) => model.messages.filter(({ origin }) => origin === 'draft');

const saveDraft = fc.record({ which: small, given: writing, isLate: fc.boolean(), keepsPlace: fc.boolean() }).map(
  ({ which, given, isLate, keepsPlace }): Operation =>
    async ({ mailbox, model }) => {
      const draft = nth(draftsOf(model), which);
      if (!draft) return;
      const before = value(await mailbox.readDraft(draft.id)).content;
      const { subject, references } = keepsPlace ? before : toContent(model, given);
      const content = { ...toContent(model, given), subject, references };
      const saved = await mailbox.replaceDraft(draft.id, content, null, isLate ? draft.revision - 1 : draft.revision);
      if (isLate) return expect(saved).toMatchObject({ ok: false, error: { kind: 'draft_changed' } });
      expect(saved.ok).toBe(maySave(model, content, draft));
      if (!saved.ok) return;
      expect(saved.value.messageId).toBe(draft.id);
      const [last, after] = [draft.revision, draft.revision + 1].map((n) => (n === 1 ? draft.id : `${draft.id}-${n}`));
      const { emails } = value(await mailbox.readEmails([last ?? '', after ?? '']));
      expect(emails.map(({ id }) => id)).toEqual([after]);
      draft.revision += 1;
      draft.sizeBytes = Buffer.byteLength(JSON.stringify(content));
      draft.words = given.text.words;
      draft.hasFile = content.attachmentIds.length > 0;
      hold(model, draft.id, content.attachmentIds);
      if (subject !== before.subject || `${references}` !== `${before.references}`)
        model.reassign(draft, toThreaded(content));
    },
);

const dropDraft = small.map(
  (n): Operation =>
    async ({ mailbox, model }) => {
      const draft = nth(draftsOf(model), n);
      if (!draft) return;
      value(await mailbox.deleteDraft(draft.id));
      model.erase(draft);
    },
);

const DOMAIN_HOUR = { domain: 'example.test', hour: Math.floor(Date.now() / 3_600_000) };

/**
 * Sends a draft with a hold of one hour, so that it can be undone. Attachments may be any uploads, including repeated ones and
 * those of other drafts.
 */
const send = fc
  .record({
    given: writing,
    draft: fc.option(small),
    fileBytes: fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 2 }),
    isLate: fc.boolean(),
  })
  .map(
    ({ given, draft: which, fileBytes, isLate }): Operation =>
      async (world) => {
        const { userId, model } = world;
        const draft = which === null ? undefined : nth(draftsOf(model), which);
        const text = { ...given.text, own: null };
        const letter = {
          text,
          fileBytes,
          folder: 0,
          isRead: true,
          isFlagged: false,
          hour: 0,
          applyRules: false,
        } as const;
        const { input, written } = await put(world, { ...letter, origin: 'sent' });
        const attachmentIds = toContent(model, given).attachmentIds;
        const outboxId = crypto.randomUUID();
        const submission = {
          limits: { perHour: 1_000, perHourFirstDay: 1_000, perHourFirstWeek: 1_000 },
          domainHour: DOMAIN_HOUR,
          draftId: draft?.id ?? null,
          draftRevision: draft?.revision ?? null,
          forwardOf: null,
          attachmentIds,
          idempotency: { key: outboxId, requestSha256: outboxId },
          outbox: {
            outboxId,
            kind: 'message',
            headerMessageId: null,
            rawKey: input.rawKey,
            ownsRaw: false,
            sizeBytes: input.sizeBytes,
            bodyHash: '',
            isEightBit: false,
            envelopeFrom: 'user@example.test',
            recipients: [{ email: 'far@elsewhere.test', domain: 'elsewhere.test' }],
            holdUntil: Date.now() + DAY_MS,
          },
          sentCopy: input,
        } as const;
        const transport = openMailbox(env, userId);
        value(await transport.addShare(DOMAIN_HOUR, 1));
        if (draft && isLate) {
          const late = await transport.submitMessage({ ...submission, draftRevision: draft.revision - 1 });
          expect(late).toEqual({ ok: false, error: { kind: 'draft_changed' } });
          return deleteBlobs(env, written);
        }
        const outcome = await transport.submitMessage(submission);
        if (!outcome.ok && outcome.error.kind === 'over_quota') {
          expect(model.usedBytes + input.sizeBytes).toBeGreaterThan(LIMIT_BYTES);
          return deleteBlobs(env, written);
        }
        const sent = value(outcome);
        addMessage(model, sent.messageId, { ...letter, origin: 'sent' }, input);
        if (draft) model.erase(draft);
        model.uploads = model.uploads.filter(({ id, holder }) => holder !== null || !attachmentIds.includes(id));
        const again = value(await openMailbox(env, userId).submitMessage(submission));
        expect(again).toMatchObject({ messageId: sent.messageId, duplicate: true });
      },
  );

const takeBack = small.map(
  (n): Operation =>
    async ({ userId, mailbox, model }) => {
      const sent = nth(
        model.messages.filter(({ isHeld }) => isHeld),
        n,
      );
      if (!sent) return;
      const { draftId } = value(await openMailbox(env, userId).cancelSubmission(sent.id));
      const draft = value(await mailbox.readDraft(draftId ?? ''));
      expect(draft.attachments.map(({ sizeBytes }) => sizeBytes)).toEqual(sent.fileBytes);
      for (const { attachmentId, sizeBytes } of draft.attachments) {
        model.uploads.push({ id: attachmentId, sizeBytes, holder: null });
      }
      addDraft(model, draft.messageId, draft.content, sent.words);
      model.erase(sent);
    },
);

export const WRITING = [
  { arbitrary: upload, weight: 2 },
  { arbitrary: makeDraft, weight: 2 },
  { arbitrary: saveDraft, weight: 3 },
  { arbitrary: send, weight: 2 },
  { arbitrary: takeBack, weight: 2 },
  { arbitrary: dropUploads, weight: 1 },
  { arbitrary: dropDraft, weight: 1 },
];
