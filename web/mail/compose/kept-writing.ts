/**
 * Keeps messages being written in the browser's local storage, each under its own key, so that a second message or tab
 * does not overwrite it. A tab holds a lock on its open message. A message without a lock was left by a closed tab.
 */

import { mailTexts } from '../../shared/texts/mail.ts';
import { session } from '../model/session.ts';
import { blankWriting, type Writing } from './writing.ts';

const t = mailTexts.writing;

/** Storage key of a message. It contains the user's id, so that the tab of another user does not open the message. */
const prefix = () => `tessera.writing.${session.get().profile?.user_id ?? ''}.`;

const lockReleases = new Map<string, () => void>();

function holdLock(name: string): void {
  if (lockReleases.has(name) || !navigator.locks) return;
  const held = new Promise<void>((resolve) => lockReleases.set(name, resolve));
  navigator.locks.request(name, { ifAvailable: true }, () => held).catch(() => undefined);
}

export function keepWriting(writing: Writing): void {
  const name = prefix() + writing.key;
  holdLock(name);
  try {
    localStorage.setItem(name, JSON.stringify({ ...writing, keptAt: Date.now() }));
  } catch {
    // The browser's storage may be full or unavailable. The message is then saved in Drafts only.
  }
}

export function forgetWriting(key: string): void {
  const name = prefix() + key;
  try {
    localStorage.removeItem(name);
  } catch {
    // Storage is unavailable, so there is no stored message to remove.
  }
  lockReleases.get(name)?.();
  lockReleases.delete(name);
}

/** Lists the messages that closed tabs left in this browser, newest first. */
export async function findKeptMessages(): Promise<Writing[]> {
  const open = new Set((await navigator.locks?.query())?.held?.map((lock) => lock.name));
  const found: (Writing & { keptAt?: number })[] = [];
  try {
    for (const name of Object.keys(localStorage)) {
      if (!name.startsWith(prefix()) || open.has(name)) continue;
      found.push({ ...JSON.parse(localStorage.getItem(name) ?? ''), key: name.slice(prefix().length) });
    }
  } catch {
    // Storage is unavailable or an entry is damaged. Return the messages read so far.
  }
  return found
    .toSorted((a, b) => (b.keptAt ?? 0) - (a.keptAt ?? 0))
    .map(({ keptAt: _, ...writing }) => ({
      // Adds fields that are missing in messages kept by an older version of this page.
      ...blankWriting(writing.key, ''),
      ...writing,
      // Unfinished uploads ended with the tab that ran them, so drop them.
      attachments: writing.attachments.map((upload) =>
        upload.attachmentId || upload.error ? upload : { ...upload, error: t.uploadInterrupted },
      ),
    }));
}
