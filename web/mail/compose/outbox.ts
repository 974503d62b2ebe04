/**
 * Messages on their way from this page to the server. Each is stored on this device before the first attempt. If the
 * server cannot be reached, the message waits and is sent when the network returns, even after the tab was closed. The
 * idempotency key makes repeated attempts harmless.
 */
import { ApiError, isUnreachable } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { type Delivery, type Outgoing, sendMessage } from '../model/api.ts';
import { deleteEntry, listEntries, mintId, putEntry } from '../model/device-store.ts';
import type { Writing } from './writing.ts';

export interface Letter {
  id: string;
  idempotencyKey: string;
  body: Outgoing;
  /** The message as the compose window edits it, needed if the window opens again after an undo or a refusal. */
  writing: Writing;
  /** Time when the user sent the message, in RFC 3339. */
  writtenAt: string;
}

/** `waiting`: the server could not be reached. `sent`: the server has it; it may still hold it for an undo. */
export interface OutgoingLetter extends Letter {
  state: 'sending' | 'waiting' | 'sent';
  messageId: string | null;
}

export const outbox = createStore<{ letters: readonly OutgoingLetter[] }>({ letters: [] });

export interface OutboxEvents {
  onSent: (letter: Letter, messageId: string, delivery: Delivery[]) => void;
  onWaiting: (letter: Letter) => void;
  /** Called when the server refused the message. The message is no longer in the outbox. */
  onRefused: (letter: Letter, error: unknown) => void;
}

const RETRY_MS = 15_000;
/**
 * How long a sent message is shown in its conversation at most. It goes away earlier when the conversation contains the server's
 * copy.
 */
const SENT_SHOWN_MS = 30_000;
const LOCK = 'tessera.mail.outbox';

let owner = '';
let events: OutboxEvents | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;

function update(id: string, part: Partial<OutgoingLetter> | null): void {
  outbox.set(({ letters }) => ({
    letters: letters.flatMap((letter) => {
      if (letter.id !== id) return letter;
      return part === null ? [] : { ...letter, ...part };
    }),
  }));
}

/** Starts sending the user's outbox, including messages that closed tabs left on this device. */
export async function startOutbox(userId: string, handlers: OutboxEvents): Promise<void> {
  owner = userId;
  events = handlers;
  const left = await listEntries<Letter>('outbox', userId);
  if (owner !== userId) return;
  outbox.set(({ letters }) => {
    const known = new Set(letters.map((letter) => letter.id));
    const added = left.filter((entry) => !known.has(entry.id));
    return { letters: [...letters, ...added.map(({ value }) => toWaiting(value))] };
  });
  await sendLetters();
}

const toWaiting = (letter: Letter): OutgoingLetter => ({ ...letter, state: 'waiting', messageId: null });

export function stopOutbox(): void {
  owner = '';
  events = null;
  clearTimeout(retry);
  outbox.set({ letters: [] });
}

/** Stores a message in the outbox. @returns the message as stored, and whether it survives the end of this tab. */
export async function postLetter(
  letter: Omit<Letter, 'id' | 'writtenAt'>,
): Promise<{ letter: Letter; isDurable: boolean }> {
  const stored: Letter = { ...letter, id: mintId(), writtenAt: new Date().toISOString() };
  outbox.set(({ letters }) => ({ letters: [...letters, { ...stored, state: 'sending', messageId: null }] }));
  const isDurable = await putEntry('outbox', { id: stored.id, userId: owner, value: stored });
  return { letter: stored, isDurable };
}

/** Removes a message that the server does not have. @returns false if the server may have it already. */
export async function takeBack(id: string): Promise<boolean> {
  const letter = outbox.get().letters.find((one) => one.id === id);
  if (letter?.state !== 'waiting') return false;
  update(id, null);
  await deleteEntry('outbox', owner, id);
  return true;
}

/** Sends all messages of the outbox in order. Only one tab sends at a time. */
export async function sendLetters(): Promise<void> {
  clearTimeout(retry);
  await (navigator.locks ? navigator.locks.request(LOCK, sendAll) : sendAll());
}

async function sendAll(): Promise<void> {
  const userId = owner;
  for (const { value } of await listEntries<Letter>('outbox', userId)) {
    if (owner !== userId) return;
    update(value.id, { state: 'sending' });
    if (!(await sendOne(userId, value))) break;
  }
  // Another tab may have sent or removed messages of the outbox: drop those here too.
  const left = new Set((await listEntries<Letter>('outbox', userId)).map((entry) => entry.id));
  for (const { id, state } of outbox.get().letters) if (state === 'waiting' && !left.has(id)) update(id, null);
}

/** Sends one message of the outbox. @returns false if the server could not be reached. */
async function sendOne(userId: string, letter: Letter): Promise<boolean> {
  try {
    const { id, delivery } = await sendMessage(letter.body, letter.idempotencyKey);
    await deleteEntry('outbox', userId, letter.id);
    update(letter.id, { state: 'sent', messageId: id });
    setTimeout(() => update(letter.id, null), SENT_SHOWN_MS);
    events?.onSent(letter, id, delivery);
    return true;
  } catch (error) {
    const isSignedOut = error instanceof ApiError && error.status === 401;
    if (isSignedOut || isUnreachable(error)) {
      for (const { id, state } of outbox.get().letters) if (state === 'sending') update(id, { state: 'waiting' });
      retry = setTimeout(() => void sendLetters(), RETRY_MS);
      events?.onWaiting(letter);
      return false;
    }
    await deleteEntry('outbox', userId, letter.id);
    update(letter.id, null);
    events?.onRefused(letter, error);
    return true;
  }
}
