/** `Email/set` (RFC 8621 §4.6). */

import { z } from '@hono/zod-openapi';
import type { EmailPatch, EmailSetFailure } from '../../../../durable-objects/mail/contract/jmap.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { streamMessage } from '../../outbound/compose-message.ts';
import { openBlob } from '../objects/blobs.ts';
import { composeEmail } from '../objects/compose-email.ts';
import { listFixed, readEmailPatch } from '../objects/email-patch.ts';
import { readNewEmail } from '../objects/new-email.ts';
import { storeEmail } from '../objects/store-email.ts';
import { findChangedProperty } from '../objects/unchanged-properties.ts';
import { setArguments } from '../protocol/arguments.ts';
import { UPLOAD_BYTES_MAX } from '../protocol/limits.ts';
import { type Arguments, type Call, method, type SetError, toMethodError } from '../protocol/method.ts';
import { findSetError, invalidProperties, resolveId, SetOutcome } from '../protocol/standard.ts';

export const emailSet = method({
  capability: 'mail',
  schema: z.strictObject(setArguments),
  run: async (call, args) => {
    const before = await call.ask((mailbox) => mailbox.readEmails([]));
    if (!before.ok) return err(toMethodError(before.error));
    const refusal = findSetError(args, before.value.state);
    if (refusal) return err(refusal);
    const outcome = new SetOutcome();
    for (const [creationId, object] of Object.entries(args.create ?? {})) {
      const made = await createEmail(call, object);
      if (made.ok) {
        outcome.created[creationId] = made.value;
        call.created.set(creationId, String(made.value.id));
      } else outcome.notCreated[creationId] = made.error;
    }
    const destroys = [...new Set((args.destroy ?? []).map((id) => resolveId(call, id)))];
    const patches = await readPatches(call, args.update ?? {}, destroys);
    const updates: Record<string, EmailPatch> = {};
    for (const [id, patch] of patches) {
      if (patch.ok) updates[id] = patch.value;
      else outcome.notUpdated[id] = patch.error;
    }
    const done = await call.ask((mailbox) => mailbox.setEmails({ ifInState: null, updates, destroys }));
    if (!done.ok) return err(toMethodError(done.error));
    if (done.value === null) return err({ type: 'stateMismatch' });
    for (const [id, failure] of Object.entries(done.value.updated)) {
      if (failure === null) outcome.updated[id] = null;
      else outcome.notUpdated[id] = toSetError(failure);
    }
    for (const [id, isGone] of Object.entries(done.value.destroyed)) {
      if (isGone) outcome.destroyed.push(id);
      else outcome.notDestroyed[id] = { type: 'notFound' };
    }
    return ok(outcome.toAnswer(call, { oldState: before.value.state, newState: done.value.newState }));
  },
});

async function createEmail(call: Call, object: Arguments): Promise<Result<Arguments, SetError>> {
  const email = readNewEmail(object);
  if (!email.ok) return email;
  const domain = call.user.email?.split('@').at(-1) ?? 'localhost';
  const composed = await composeEmail(email.value, {
    domain,
    now: call.now,
    openBlob: (id) => openBlob(call.env, call.user.userId, resolveId(call, id)),
  });
  if (!composed.ok) return composed;
  const { attachments, sizeBytes } = composed.value;
  if (sizeBytes > UPLOAD_BYTES_MAX * 1.4) return err({ type: 'tooLarge' });
  return storeEmail(call, {
    mailboxIds: email.value.mailboxIds,
    keywords: email.value.keywords,
    receivedAt: email.value.receivedAt ?? call.now,
    sizeBytes,
    read: async () => streamMessage(composed.value, (n) => openAttachment(attachments[n])),
  });
}

async function openAttachment(
  blob: Awaited<ReturnType<typeof openBlob>> | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  if (!blob) throw new Error('a composed message names an unknown attachment');
  const source = await blob.read();
  return (async function* () {
    yield* source;
  })();
}

async function readPatches(
  call: Call,
  update: Readonly<Record<string, Arguments>>,
  destroys: readonly string[],
): Promise<[id: string, patch: Result<EmailPatch, SetError>][]> {
  const patches: [id: string, patch: Result<EmailPatch, SetError>][] = [];
  for (const [key, patch] of Object.entries(update)) {
    const id = resolveId(call, key);
    const isKept = !destroys.includes(id);
    patches.push([id, isKept ? await readPatch(call, id, patch) : err({ type: 'willDestroy' })]);
  }
  return patches;
}

async function readPatch(call: Call, id: string, patch: Arguments): Promise<Result<EmailPatch, SetError>> {
  const fixed = listFixed(patch);
  const unchanged = Object.keys(fixed).length === 0 ? ok(null) : await findChangedProperty(call, id, fixed);
  if (!unchanged.ok) return unchanged;
  return readEmailPatch(
    call,
    Object.fromEntries(Object.entries(patch).filter(([name]) => !Object.hasOwn(fixed, name))),
  );
}

function toSetError(failure: EmailSetFailure): SetError {
  switch (failure.kind) {
    case 'not_found':
      return { type: 'notFound' };
    case 'bad_folder':
      return invalidProperties(['mailboxIds'], `Unknown mailbox: ${failure.folderId.slice(0, 100)}`);
    case 'no_folder_left':
      return invalidProperties(['mailboxIds'], 'A message is in at least one mailbox.');
    case 'too_many_folders':
      return { type: 'tooManyMailboxes' };
    case 'draft_fixed':
      return invalidProperties(['keywords'], 'A draft of the app stays one. Copy it to change that.');
  }
}
