/**
 * What is being written, kept in this browser's own storage: each message under its own name, so that neither a second
 * message nor a second tab overwrites it. A tab holds a lock on the message it shows; what no tab shows is found again.
 */
import { session } from '../model/session.ts';
import type { Writing } from './writing.ts';

/** Kept under the account, so that another person's tab does not open it. */
const prefix = () => `tessera.writing.${session.get().profile?.user_id ?? ''}.`;

const letGo = new Map<string, () => void>();

function hold(name: string): void {
  if (letGo.has(name) || !navigator.locks) return;
  const held = new Promise<void>((resolve) => letGo.set(name, resolve));
  navigator.locks.request(name, { ifAvailable: true }, () => held).catch(() => undefined);
}

export function keepWriting(writing: Writing): void {
  const name = prefix() + writing.key;
  hold(name);
  try {
    localStorage.setItem(name, JSON.stringify({ ...writing, keptAt: Date.now() }));
  } catch {
    // Storage may be full or forbidden: the Drafts folder still has it.
  }
}

export function forgetWriting(key: string): void {
  const name = prefix() + key;
  try {
    localStorage.removeItem(name);
  } catch {
    // Then nothing was kept.
  }
  letGo.get(name)?.();
  letGo.delete(name);
}

/** What was being written when its tab was closed, newest first. */
export async function findKeptWritings(): Promise<Writing[]> {
  const open = new Set((await navigator.locks?.query())?.held?.map((lock) => lock.name));
  const found: (Writing & { keptAt?: number })[] = [];
  try {
    for (const name of Object.keys(localStorage)) {
      if (!name.startsWith(prefix()) || open.has(name)) continue;
      found.push({ ...JSON.parse(localStorage.getItem(name) ?? ''), key: name.slice(prefix().length) });
    }
  } catch {
    // What cannot be read cannot be shown either.
  }
  return found
    .toSorted((a, b) => (b.keptAt ?? 0) - (a.keptAt ?? 0))
    .map(({ keptAt: _, ...writing }) => ({
      ...writing,
      // What an older version of this page kept lacks these.
      from: writing.from ?? '',
      html: writing.html ?? null,
      revision: writing.revision ?? null,
      tried: writing.tried ?? [],
      // Bytes that had not arrived died with their tab.
      attachments: writing.attachments.map((upload) =>
        upload.attachmentId || upload.error ? upload : { ...upload, error: 'Cut off. Attach it again.' },
      ),
    }));
}
