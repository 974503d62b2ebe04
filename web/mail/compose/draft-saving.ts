/**
 * How a message gets into Drafts: when the writer pauses, one save at a time, and never over what another tab or device
 * saved meanwhile (`If-Match`). Until it is there, this browser keeps it (`kept-writing.ts`).
 */
import { ApiError, describeError } from '../../shared/api.ts';
import { showToast } from '../../shared/toasts.tsx';
import { createDraft, type DraftAnswer, loadDraft, replaceDraft } from '../model/api.ts';
import { CLOSED_COMPOSE, compose, newWriting } from './compose-store.ts';
import { forgetWriting, keepWriting } from './kept-writing.ts';
import { fromDraft, isEmptyWriting, isOwnDraft, splitFiles, sumOf, toDraftBody, type Writing } from './writing.ts';

const SAVE_AFTER_MS = 1500;
/** After a failure; a network that comes back is noticed at once (`saveAgain`). */
const RETRY_AFTER_MS = 15_000;
/** A draft that is saved elsewhere again and again while we read it. */
const ATTEMPTS_MAX = 3;
const TRIED_MAX = 5;

/** Where a message of this tab lies, by its key: one that made room while its draft was being made has a place too. */
const places = new Map<string, { draftId: string; revision: number }>();

/** The draft holds what was written elsewhere: nothing is saved over it. */
class DraftChanged extends Error {
  readonly theirs: DraftAnswer;
  constructor(theirs: DraftAnswer) {
    super('The draft was changed elsewhere.');
    this.theirs = theirs;
  }
}

const isStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof ApiError && statuses.includes(error.status);

interface Saved {
  draftId: string;
  revision: number;
  /** Its files went away with the draft that held them. */
  hasLostFiles: boolean;
}

/** A draft that was sent or erased elsewhere is written anew; what went with it are its files. */
async function createAgain(writing: Writing): Promise<Saved> {
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

/** @throws DraftChanged, and what the API answers. */
async function putDraft(asked: Writing): Promise<Saved> {
  if (asked.draftId === null) {
    const { id, revision } = await createDraft(toDraftBody(asked));
    return { draftId: id, revision, hasLostFiles: false };
  }
  let writing = asked;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { id, revision } = await replaceDraft(asked.draftId, toDraftBody(writing), writing.revision);
      return { draftId: id, revision, hasLostFiles: false };
    } catch (error) {
      if (!isStatus(error, 404, 412)) throw error;
      const theirs = isStatus(error, 412) ? await readDraft(asked.draftId) : null;
      if (theirs === null) {
        showToast('The draft was sent or thrown away elsewhere. What you write is saved as a new one.');
        return await createAgain(writing);
      }
      if (!isOwnDraft(theirs, writing) || attempt === ATTEMPTS_MAX) throw new DraftChanged(theirs);
      writing = { ...writing, revision: theirs.revision };
    }
  }
}

/** @returns null when there is no such draft any more. */
export async function readDraft(draftId: string): Promise<DraftAnswer | null> {
  try {
    return await loadDraft(draftId);
  } catch (error) {
    if (isStatus(error, 404)) return null;
    throw error;
  }
}

const GONE = 'It went away with the draft. Attach it again.';

async function save(asked: Writing): Promise<void> {
  const writing = { ...asked, ...places.get(asked.key) };
  writing.tried = [...asked.tried, sumOf(toDraftBody(asked))].slice(-TRIED_MAX);
  const isOpen = () => compose.get().writing?.key === asked.key;
  // Before it leaves: should its answer be lost, even with this tab, the text that it left is known for our own.
  if (isOpen()) {
    compose.set({ writing });
    keepWriting(writing);
  }
  const { hasLostFiles, ...place } = await putDraft(writing);
  places.set(writing.key, place);
  const now = compose.get().writing;
  if (!now || !isOpen()) return;
  const next: Writing = { ...now, ...place, tried: [] };
  if (hasLostFiles) {
    next.attachments = now.attachments.map((upload) =>
      upload.attachmentId ? { ...upload, attachmentId: null, error: GONE } : upload,
    );
  }
  compose.set({ writing: next, saved: now === writing ? 'drafts' : 'here', trouble: null });
  keepWriting(next);
}

let timer: ReturnType<typeof setTimeout> | undefined;
/** One save at a time: a draft that is made twice would be two drafts. */
let saving: Promise<unknown> = Promise.resolve();

export const stopSaving = (): void => clearTimeout(timer);
/** Resolves when no save is under way. */
export const savesEnded = (): Promise<unknown> => saving;

export function saveSoon(afterMs = SAVE_AFTER_MS): void {
  clearTimeout(timer);
  timer = setTimeout(saveDraft, afterMs);
}

function noteFailure(error: unknown): void {
  if (error instanceof DraftChanged) {
    compose.set({ saved: 'changed', theirs: error.theirs });
    return;
  }
  const isAway = !(error instanceof ApiError) || error.status === 0 || error.status >= 500;
  compose.set({ saved: 'failed', trouble: isAway ? 'Drafts cannot be reached' : describeError(error) });
  if (isAway) saveSoon(RETRY_AFTER_MS);
}

/** @returns whether the message as it is now is in Drafts. */
export function saveDraft(): Promise<boolean> {
  clearTimeout(timer);
  const asked = compose.get().writing;
  if (!asked || isEmptyWriting(asked)) return saving.then(() => true);
  const saved = saving.then(async () => {
    const { writing, isSending, theirs, saved: state } = compose.get();
    const isOpen = writing?.key === asked.key;
    if (isOpen && state === 'drafts') return true;
    if (isOpen && (isSending || theirs)) return false;
    try {
      await save(isOpen ? writing : asked);
      return true;
    } catch (error) {
      if (compose.get().writing?.key === asked.key) noteFailure(error);
      return false;
    }
  });
  saving = saved;
  return saved;
}

/** Once the network is back: what could not be saved is saved. */
export function saveAgain(): void {
  if (compose.get().saved === 'failed') void saveDraft();
}

/**
 * Saves a message that nobody looks at any more, and lets this browser forget it: under its own draft, or as another one
 * where that was changed elsewhere. @returns whether Drafts has it.
 */
export async function saveAside(writing: Writing): Promise<'saved' | 'apart' | 'failed'> {
  const ended = saving.then(async () => {
    try {
      await save(writing);
      return 'saved' as const;
    } catch (error) {
      if (!(error instanceof DraftChanged)) return 'failed' as const;
      const { own } = splitFiles(writing, error.theirs);
      return await createAgain({ ...writing, attachments: own }).then(
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

/** A draft that was changed elsewhere is shown as it is there, as long as nothing newer was typed here. */
export function noticeChanges(messageIds: ReadonlySet<string>): void {
  const asked = compose.get().writing;
  if (!asked?.draftId || !messageIds.has(asked.draftId)) return;
  saving = saving.then(() => lookForChange(asked.key, asked.draftId ?? '')).catch(() => undefined);
}

async function lookForChange(key: string, draftId: string): Promise<void> {
  const theirs = await readDraft(draftId);
  const { writing, saved, isSending, theirs: known } = compose.get();
  if (writing?.key !== key || isSending) return;
  if (theirs === null) {
    if (saved !== 'drafts') return;
    forgetWriting(key);
    compose.set(CLOSED_COMPOSE);
    showToast('The message was sent or thrown away elsewhere.');
    return;
  }
  if (known) compose.set({ theirs });
  else if (saved === 'drafts' && theirs.revision > (writing.revision ?? 0)) {
    takeDraft(theirs);
    showToast('Changed elsewhere: this is the newest text.');
  }
}

/** Goes on with the draft as the server has it. */
export function takeDraft(theirs: DraftAnswer): void {
  const writing = { ...(compose.get().writing ?? newWriting()), ...fromDraft(theirs) };
  places.set(writing.key, { draftId: theirs.id, revision: theirs.revision });
  compose.set({ writing, saved: 'drafts', trouble: null, theirs: null });
  keepWriting(writing);
}

/** From now on the message lies elsewhere: at another revision, or in no draft yet. */
export function moveWriting(writing: Writing): void {
  const { draftId, revision } = writing;
  if (draftId === null || revision === null) places.delete(writing.key);
  else places.set(writing.key, { draftId, revision });
  compose.set({ writing, saved: 'here', trouble: null, theirs: null });
  keepWriting(writing);
}
