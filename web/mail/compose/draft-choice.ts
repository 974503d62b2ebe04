/**
 * Resolves a draft that was changed elsewhere while it was written here. Both versions are kept until the user chooses.
 */

import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { showToast } from '../../shared/toasts.tsx';
import { type DraftAnswer, loadMessage } from '../model/api.ts';
import { offerUndo } from '../model/changes.ts';
import { compose } from './compose-store.ts';
import { adoptDraft, moveWriting, saveDraft } from './draft-saving.ts';
import { attachCopies } from './uploads.ts';
import { fromDraft, splitFiles, type Writing } from './writing.ts';

const t = mailComposeTexts.window;

const UNDO_MS = 20_000;

function saveOver(mine: Writing, theirs: DraftAnswer): Promise<boolean> {
  moveWriting({ ...mine, revision: theirs.revision });
  return saveDraft();
}

/** Replaces the other version with the one written here. */
export async function chooseMine(): Promise<void> {
  const { writing, theirs } = compose.get();
  if (!writing || !theirs) return;
  offerUndo(
    t.yourTextStays,
    async () => {
      const now = compose.get().writing;
      if (now?.key !== writing.key) return;
      moveWriting({ ...now, ...fromDraft(theirs), revision: now.revision });
      await saveDraft();
    },
    UNDO_MS,
  );
  await saveOver(writing, theirs);
}

/** Replaces the version written here with the other one. */
export function chooseTheirs(): void {
  const { writing, theirs } = compose.get();
  if (!writing || !theirs) return;
  adoptDraft(theirs);
  offerUndo(
    t.otherTaken,
    async () => {
      const now = compose.get().writing;
      if (now?.key === writing.key) await saveOver(writing, { ...theirs, revision: now.revision ?? theirs.revision });
    },
    UNDO_MS,
  );
}

/**
 * Makes the version written here a draft of its own. The other one stays in Drafts. Attachments of both versions are uploaded
 * again, because an upload belongs to one draft only.
 */
export async function chooseBoth(): Promise<void> {
  const { writing, theirs } = compose.get();
  if (!writing || !theirs) return;
  const { own, shared } = splitFiles(writing, theirs);
  moveWriting({ ...writing, draftId: null, revision: null, tried: [], attachments: own });
  await saveDraft();
  showToast(t.bothKept);
  if (shared.length === 0) return;
  const wanted = new Set(shared.map((upload) => upload.attachmentId));
  await attachCopies(await loadMessage(theirs.id), (at) => wanted.has(theirs.attachments[at]?.attachment_id ?? ''));
}
