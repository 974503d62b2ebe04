/** Whether the tools of formatted text are shown. Kept on this device; on a phone they are folded at first. */
import { createStore } from '../../shared/store.ts';

const NAME = 'tessera.mail.format-tools';

function read(): boolean {
  try {
    const kept = localStorage.getItem(NAME);
    if (kept !== null) return kept === '1';
  } catch {
    // Storage is unavailable: the width of the page decides.
  }
  return !matchMedia('(max-width: 820px)').matches;
}

export const formatTools = createStore<{ areShown: boolean }>({ areShown: read() });

export function showTools(areShown: boolean): void {
  formatTools.set({ areShown });
  try {
    localStorage.setItem(NAME, areShown ? '1' : '0');
  } catch {
    // Storage is unavailable: the choice lasts until the page is closed.
  }
}
