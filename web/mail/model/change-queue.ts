/**
 * Sends changes to the server one at a time and in order, so that an undo never overtakes the change it reverts. A change
 * is stored on this device first. If the server cannot be reached, it waits and is sent when the network returns, even
 * after the tab was closed. All changes may be repeated without harm.
 *
 * Code that reads the list compares `changeCount` before and after, to learn whether the answer is outdated.
 */
import { ApiError, isUnreachable } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { type BatchPatch, eraseMessages, leaveList, muteThread, patchMessages } from './api.ts';
import { deleteEntry, type Entry, listEntries, mintId, putEntry } from './device-store.ts';
import { type InvitationReply, sendInvitationReply } from './invitation-reply.ts';
import { deleteSender, type Sender, saveSender } from './senders.ts';

const t = mailTexts.changes;

export type QueuedChange =
  | { kind: 'patch'; ids: string[]; patch: BatchPatch }
  | { kind: 'erase'; ids: string[] }
  /** Mutes or unmutes a conversation. `patch` is the change that the server then makes to the messages `ids`. */
  | { kind: 'mute'; threadId: string; isMuted: boolean; ids: string[]; patch: BatchPatch }
  /** `isForgotten`: the decision is deleted, by its id if the page knows it. */
  | { kind: 'sender'; sender: string; status: Sender['status']; isForgotten: boolean; id?: string }
  | { kind: 'leave'; messageId: string }
  | { kind: 'answer'; reply: InvitationReply };

/** Changes that are not on the server yet. `isBlocked`: the last attempt did not reach the server. */
export const waiting = createStore<{ changes: readonly QueuedChange[]; isBlocked: boolean }>({
  changes: [],
  isBlocked: false,
});

const RETRY_MS = 15_000;
const LOCK = 'tessera.mail.changes';

let owner = '';
let count = 0;
interface Outcome {
  resolve: () => void;
  reject: (error: unknown) => void;
  onWaiting: () => void;
}
const outcomes = new Map<string, Outcome>();
let running: Promise<void> | null = null;
let isAsked = false;
let retry: ReturnType<typeof setTimeout> | undefined;
let onReplayed = (): void => undefined;

/** Returns a counter that increases when a change is queued and when it ends. */
export const changeCount = (): number => count;

/** Resolves when all changes have ended or wait for the network. */
export const changesSettled = (): Promise<unknown> => running ?? Promise.resolve();

export const isOffline = (): boolean => waiting.get().isBlocked || !navigator.onLine;

/**
 * Starts to send the changes of a user, including those that closed tabs left on this device.
 * @param afterReplay runs when changes that had waited are sent.
 */
export function startChanges(userId: string, afterReplay: () => void): void {
  owner = userId;
  onReplayed = afterReplay;
  waiting.set({ changes: [], isBlocked: false });
  void sendChanges();
}

export function stopChanges(): void {
  owner = '';
  clearTimeout(retry);
  waiting.set({ changes: [], isBlocked: false });
}

/**
 * Queues a change. Resolves when the server has it, which may be after the network returns.
 * @param onWaiting runs after each attempt that does not reach the server.
 * @throws ApiError if the server refuses it.
 */
export async function queueChange(change: QueuedChange, onWaiting = (): void => undefined): Promise<void> {
  count += 1;
  const entry: Entry<QueuedChange> = { id: mintId(), userId: owner, value: change };
  const ended = new Promise<void>((resolve, reject) => outcomes.set(entry.id, { resolve, reject, onWaiting }));
  waiting.set(({ changes }) => ({ changes: [...changes, change] }));
  running ??= Promise.resolve();
  await putEntry('changes', entry);
  void sendChanges();
  await ended;
}

/**
 * Queues a change.
 * @returns whether the server has it; false as soon as it waits for the network.
 * @throws ApiError if the server refuses it at once. A refusal after a wait is shown to the user instead.
 */
export function sendOrKeep(change: QueuedChange): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let isKept = false;
    const keep = () => {
      isKept = true;
      resolve(false);
    };
    queueChange(change, keep).then(
      () => resolve(true),
      (error: unknown) => (isKept ? showError(error) : reject(error)),
    );
  });
}

/** Sends all waiting changes. Only one tab sends at a time. */
export function sendChanges(): Promise<void> {
  isAsked = true;
  running = (running ?? Promise.resolve()).then(async () => {
    if (!isAsked) return;
    isAsked = false;
    clearTimeout(retry);
    await (navigator.locks ? navigator.locks.request(LOCK, drain) : drain());
  });
  const own = running;
  void own.finally(() => {
    if (running === own) running = null;
  });
  return own;
}

async function drain(): Promise<void> {
  const userId = owner;
  const wasBlocked = waiting.get().isBlocked;
  let sent = 0;
  while (owner === userId) {
    const entries = await listEntries<QueuedChange>('changes', userId);
    waiting.set({ changes: entries.map((entry) => entry.value) });
    const [first] = entries;
    if (!first) break;
    const isSent = await sendOne(first);
    if (!isSent) return;
    sent += 1;
  }
  waiting.set({ isBlocked: false });
  if (wasBlocked && sent > 0) onReplayed();
}

async function send({ value: change, ...entry }: Entry<QueuedChange>): Promise<unknown> {
  switch (change.kind) {
    case 'patch':
      return patchMessages(change.ids, change.patch);
    case 'erase':
      return eraseMessages(change.ids);
    case 'mute':
      return muteThread(change.threadId, change.isMuted);
    case 'leave':
      return leaveList(change.messageId);
    case 'answer':
      return sendInvitationReply(change.reply, (reply) =>
        putEntry('changes', { ...entry, value: { ...change, reply } }),
      );
    case 'sender': {
      // Deleting a decision about a sender needs its id. A page that was offline may not have it. Then save the decision first to
      // get the id.
      const id = (change.isForgotten && change.id) || (await saveSender(change.sender, change.status)).id;
      return change.isForgotten ? deleteSender(id) : undefined;
    }
  }
}

/** Leaving a list is not retried, because the list's server may be down for good. */
const hasToWait = (error: unknown): boolean =>
  isUnreachable(error) && (error as ApiError).code !== 'unsubscribe_failed';

/** Sends one change. @returns false if the change has to wait. */
async function sendOne(entry: Entry<QueuedChange>): Promise<boolean> {
  const { id, userId } = entry;
  const outcome = outcomes.get(id);
  try {
    await send(entry);
    outcome?.resolve();
  } catch (error) {
    // If the session has ended, keep the change: it is sent again after the next sign-in.
    const isSignedOut = error instanceof ApiError && error.status === 401;
    if (isSignedOut) outcome?.reject(error);
    if (isSignedOut || hasToWait(error)) {
      block();
      if (!isSignedOut) for (const { onWaiting } of outcomes.values()) onWaiting();
      return false;
    }
    if (outcome) outcome.reject(error);
    else showError(error);
  }
  outcomes.delete(id);
  count += 1;
  await deleteEntry('changes', userId, id);
  return true;
}

function block(): void {
  if (!waiting.get().isBlocked && navigator.onLine) showToast(t.unreachable);
  waiting.set({ isBlocked: true });
  clearTimeout(retry);
  retry = setTimeout(() => void sendChanges(), RETRY_MS);
}
