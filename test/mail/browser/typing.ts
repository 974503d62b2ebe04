/** Helpers for tests that type: the state of a mailbox, seeded texts, and the elements of a window that can have the focus. */
import type { Locator, Page } from 'playwright-core';
import { listFolder, type MailUser } from '../../support/mail/mail.ts';
import type { TestServer } from '../../support/server.ts';

const ROLES = ['inbox', 'archive', 'sent', 'junk', 'trash', 'drafts'];

/** Reads what a command could change: the folder, flags and labels of each message. Drafts that are not in `known` are left out. */
export async function readMailbox(
  server: TestServer,
  user: MailUser,
  known: ReadonlySet<string> | null = null,
): Promise<string[]> {
  const state: string[] = [];
  for (const role of ROLES) {
    const messages = (await listFolder(server, user, role)).filter(
      ({ id }) => role !== 'drafts' || known === null || known.has(id),
    );
    state.push(
      ...messages.map(
        ({ id, subject, is_read, is_flagged, labels, snoozed_until }) =>
          `${role} ${id} ${subject}: ${JSON.stringify({ is_read, is_flagged, labels, snoozed_until })}`,
      ),
    );
  }
  return state.sort();
}

/** The members of a random text that no field or button treats as a command of its own. */
const SIGNS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#!*?/';

/** Makes a source of random numbers from 0 to 1 (mulberry32), so that a printed seed repeats a run. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function randomText(random: () => number): string {
  const length = 3 + Math.floor(random() * 6);
  return Array.from({ length }, () => SIGNS[Math.floor(random() * SIGNS.length)]).join('');
}

/** Everything that can have the focus, by Tab, by a click or from a script. A letter in a `<select>` chooses, so these are left out. */
const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled, [type="file"]), textarea, [contenteditable], [tabindex], summary';

export const focusableIn = (root: Locator): Locator => root.locator(FOCUSABLE).filter({ visible: true });

/** Collects requests that change messages, folders or accounts. Drafts of the window are not among them. */
export function collectChanges(page: Page): string[] {
  const changes: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() === 'GET' || !pathname.startsWith('/v1/')) return;
    if (/^\/v1\/(?:drafts|attachments)\b/.test(pathname)) return;
    changes.push(`${request.method()} ${pathname} ${request.postData() ?? ''}`);
  });
  return changes;
}
