/** The player that the visitor calls their own, kept on this device. */
import { createStore } from '../shared/store.ts';

const KEY = 'tessera.leaderboard.me';

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const me = createStore<{ userId: string | null }>({ userId: read() });

export function setMe(userId: string | null): void {
  me.set({ userId });
  try {
    if (userId === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, userId);
  } catch {
    // Storage is unavailable, so the choice lasts until the user leaves the page.
  }
}
