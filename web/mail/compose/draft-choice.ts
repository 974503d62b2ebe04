/** When a draft was changed elsewhere while it was being written here: both texts are kept until the writer has chosen. */
import { showToast } from '../../shared/toasts.tsx';
import { type DraftAnswer, loadMessage } from '../model/api.ts';
import { offerUndo } from '../model/changes.ts';
import { compose } from './compose-store.ts';
import { moveWriting, saveDraft, takeDraft } from './draft-saving.ts';
import { attachCopies } from './uploads.ts';
import { fromDraft, splitFiles, type Writing } from './writing.ts';

const UNDO_MS = 20_000;

function goOnWith(mine: Writing, theirs: DraftAnswer): Promise<boolean> {
  moveWriting({ ...mine, revision: theirs.revision });
  return saveDraft();
}

/** Mine takes the place of the other text. */
export async function chooseMine(): Promise<void> {
  const { writing, theirs } = compose.get();
  if (!writing || !theirs) return;
  offerUndo(
    'Your text stays.',
    async () => {
      const now = compose.get().writing;
      if (now?.key !== writing.key) return;
      moveWriting({ ...now, ...fromDraft(theirs), revision: now.revision });
      await saveDraft();
    },
    UNDO_MS,
  );
  await goOnWith(writing, theirs);
}

/** The other text takes the place of mine. */
export function chooseTheirs(): void {
  const { writing, theirs } = compose.get();
  if (!writing || !theirs) return;
  takeDraft(theirs);
  offerUndo(
    'The other text took its place.',
    async () => {
      const now = compose.get().writing;
      if (now?.key === writing.key) await goOnWith(writing, { ...theirs, revision: now.revision ?? theirs.revision });
    },
    UNDO_MS,
  );
}

/** Mine goes on as a message of its own; the other one stays in Drafts. Files of both are sent up once more. */
export async function chooseBoth(): Promise<void> {
  const { writing, theirs } = compose.get();
  if (!writing || !theirs) return;
  const { own, shared } = splitFiles(writing, theirs);
  moveWriting({ ...writing, draftId: null, revision: null, tried: [], attachments: own });
  await saveDraft();
  showToast('Both are in Drafts. You go on with yours.');
  if (shared.length === 0) return;
  const wanted = new Set(shared.map((upload) => upload.attachmentId));
  await attachCopies(await loadMessage(theirs.id), (at) => wanted.has(theirs.attachments[at]?.attachment_id ?? ''));
}
