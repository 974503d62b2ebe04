/**
 * Saves a message to Drafts when the user pauses: one save at a time, and never over a version that another tab or
 * device has saved (`If-Match`). Until then this browser keeps the message (`kept-writing.ts`).
 */
import { ApiError, describeError } from '../../shared/api.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showToast } from '../../shared/toasts.tsx';
import { createDraft, type DraftAnswer, loadDraft, replaceDraft } from '../model/api.ts';
import { CLOSED_COMPOSE, compose, newWriting } from './compose-store.ts';
import { forgetWriting, keepWriting } from './kept-writing.ts';
import {
  checksumOf,
  fromDraft,
  isEmptyWriting,
  isOwnDraft,
  isUntouched,
  splitFiles,
  toDraftBody,
  type Writing,
} from './writing.ts';

const t = mailTexts.writing;

const SAVE_AFTER_MS = 1500;
/** Delay before a failed save is tried again. When the network is back, `retrySave` saves at once. */
const RETRY_AFTER_MS = 15_000;
/** Limit of attempts to save if the draft's revision changes during each attempt. */
const ATTEMPTS_MAX = 3;
const TRIED_MAX = 5;

/**
 * Id and revision of the draft of each message of this tab, by the message's key. Another message may open before the first save
 * has ended.
 */
const draftRefs = new Map<string, { draftId: string; revision: number }>();

/** Thrown if the draft has a version that was written elsewhere. This version is then not saved over it. */
class DraftChanged extends Error {
  readonly theirs: DraftAnswer;
  constructor(theirs: DraftAnswer) {
    super(t.draftChanged);
    this.theirs = theirs;
  }
}

const isStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof ApiError && statuses.includes(error.status);

interface Saved {
  draftId: string;
  revision: number;
  /** Whether the attachments are gone, because the server deleted them with the old draft. */
  hasLostFiles: boolean;
}

/** Creates a new draft after the old one was sent or deleted elsewhere. The old draft's attachments may be deleted too. */
async function recreateDraft(writing: Writing): Promise<Saved> {
  const body = toDraftBody(writing);
  try {
    const { id, revision } = await createDraft(body);
    return { draftId: id, revision, hasLostFiles: false };
  } catch (error) {
    if (!isStatus(error, 400) || body.attachments.length === 0) throw error;
    const { id, revision } = await createDraft({ ...body, attachments: [] });
    return { draftId: id, revision, hasLostFiles: true };
  }
}

/** Saves the message once. @throws DraftChanged if the draft was changed elsewhere, and ApiError if the API refuses. */
async function putDraft(requested: Writing): Promise<Saved> {
  if (requested.draftId === null) {
    const { id, revision } = await createDraft(toDraftBody(requested));
    return { draftId: id, revision, hasLostFiles: false };
  }
  let writing = requested;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { id, revision } = await replaceDraft(requested.draftId, toDraftBody(writing), writing.revision);
      return { draftId: id, revision, hasLostFiles: false };
    } catch (error) {
      if (!isStatus(error, 404, 412)) throw error;
      const theirs = isStatus(error, 412) ? await readDraft(requested.draftId) : null;
      if (theirs === null) {
        showToast(t.draftGone);
        return await recreateDraft(writing);
      }
      if (!isOwnDraft(theirs, writing) || attempt === ATTEMPTS_MAX) throw new DraftChanged(theirs);
      writing = { ...writing, revision: theirs.revision };
    }
  }
}

/** Reads a draft. @returns null if it no longer exists. */
export async function readDraft(draftId: string): Promise<DraftAnswer | null> {
  try {
    return await loadDraft(draftId);
  } catch (error) {
    if (isStatus(error, 404)) return null;
    throw error;
  }
}

const attachmentGone = () => t.uploadGone;

async function save(requested: Writing): Promise<void> {
  const writing = { ...requested, ...draftRefs.get(requested.key) };
  writing.tried = [...requested.tried, checksumOf(toDraftBody(requested))].slice(-TRIED_MAX);
  const isOpen = () => compose.get().writing?.key === requested.key;
  // Store the checksum before the request. If the answer is lost, even with this tab, the saved text still counts as written here.
  if (isOpen()) {
    compose.set({ writing });
    keepWriting(writing);
  }
  const { hasLostFiles, ...draftRef } = await putDraft(writing);
  draftRefs.set(writing.key, draftRef);
  const now = compose.get().writing;
  if (!now || !isOpen()) return;
  const next: Writing = { ...now, ...draftRef, tried: [] };
  if (hasLostFiles) {
    next.attachments = now.attachments.map((upload) =>
      upload.attachmentId ? { ...upload, attachmentId: null, error: attachmentGone() } : upload,
    );
  }
  compose.set({ writing: next, saved: now === writing ? 'drafts' : 'here', trouble: null });
  keepWriting(next);
}

let timer: ReturnType<typeof setTimeout> | undefined;
/** The running save. Saves run one at a time: otherwise two first saves would create two drafts. */
let saving: Promise<unknown> = Promise.resolve();

export const cancelScheduledSave = (): void => clearTimeout(timer);
/** Resolves when no save is running. */
export const savesSettled = (): Promise<unknown> => saving;

export function scheduleSave(afterMs = SAVE_AFTER_MS): void {
  clearTimeout(timer);
  timer = setTimeout(saveDraft, afterMs);
}

function recordFailure(error: unknown): void {
  if (error instanceof DraftChanged) {
    compose.set({ saved: 'changed', theirs: error.theirs });
    return;
  }
  const isAway = !(error instanceof ApiError) || error.status === 0 || error.status >= 500;
  compose.set({ saved: 'failed', trouble: isAway ? t.draftsUnreachable : describeError(error) });
  if (isAway) scheduleSave(RETRY_AFTER_MS);
}

/** Saves the message now. @returns whether Drafts has the current text. */
export function saveDraft(): Promise<boolean> {
  clearTimeout(timer);
  const requested = compose.get().writing;
  const isNothing = !requested || isEmptyWriting(requested) || (requested.draftId === null && isUntouched(requested));
  if (isNothing) return saving.then(() => true);
  const saved = saving.then(async () => {
    const { writing, isSending, theirs, saved: state } = compose.get();
    const isOpen = writing?.key === requested.key;
    if (isOpen && state === 'drafts') return true;
    if (isOpen && (isSending || theirs)) return false;
    try {
      await save(isOpen ? writing : requested);
      return true;
    } catch (error) {
      if (compose.get().writing?.key === requested.key) recordFailure(error);
      return false;
    }
  });
  saving = saved;
  return saved;
}

/** Repeats a failed save when the network is back. */
export function retrySave(): void {
  if (compose.get().saved === 'failed') void saveDraft();
}

/**
 * Saves a message that no window shows any more, and then removes it from this browser. If the draft was changed
 * elsewhere, saves it as a new draft.
 * @returns `saved`, `apart` (as a new draft) or `failed`.
 */
export async function saveDetached(writing: Writing): Promise<'saved' | 'apart' | 'failed'> {
  const ended = saving.then(async () => {
    try {
      await save(writing);
      return 'saved' as const;
    } catch (error) {
      if (!(error instanceof DraftChanged)) return 'failed' as const;
      const { own } = splitFiles(writing, error.theirs);
      return await recreateDraft({ ...writing, attachments: own }).then(
        () => 'apart' as const,
        () => 'failed' as const,
      );
    }
  });
  saving = ended;
  const result = await ended;
  if (result !== 'failed') forgetWriting(writing.key);
  return result;
}

/** Shows the new version of a draft that was changed elsewhere, unless newer text was typed here. */
export function handleDraftChanges(messageIds: ReadonlySet<string>): void {
  const requested = compose.get().writing;
  if (!requested?.draftId || !messageIds.has(requested.draftId)) return;
  saving = saving.then(() => checkForChange(requested.key, requested.draftId ?? '')).catch(() => undefined);
}

async function checkForChange(key: string, draftId: string): Promise<void> {
  const theirs = await readDraft(draftId);
  const { writing, saved, isSending, theirs: known } = compose.get();
  if (writing?.key !== key || isSending) return;
  if (theirs === null) {
    if (saved !== 'drafts') return;
    forgetWriting(key);
    compose.set(CLOSED_COMPOSE);
    showToast(t.messageGone);
    return;
  }
  if (known) compose.set({ theirs });
  else if (saved === 'drafts' && theirs.revision > (writing.revision ?? 0)) {
    adoptDraft(theirs);
    showToast(t.newestText);
  }
}

/** Replaces the text in the window with the server's version of the draft. */
export function adoptDraft(theirs: DraftAnswer): void {
  const writing = { ...(compose.get().writing ?? newWriting()), ...fromDraft(theirs) };
  draftRefs.set(writing.key, { draftId: theirs.id, revision: theirs.revision });
  compose.set({ writing, saved: 'drafts', trouble: null, theirs: null });
  keepWriting(writing);
}

/** Attaches the message to another revision of its draft, or to no draft. */
export function moveWriting(writing: Writing): void {
  const { draftId, revision } = writing;
  if (draftId === null || revision === null) draftRefs.delete(writing.key);
  else draftRefs.set(writing.key, { draftId, revision });
  compose.set({ writing, saved: 'here', trouble: null, theirs: null });
  keepWriting(writing);
}
