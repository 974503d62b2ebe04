/** Whether the user writes plain text. Kept on this device. */
import { createStore } from '../../shared/store.ts';

const NAME = 'tessera.mail.plain-text';

function read(): boolean {
  try {
    return localStorage.getItem(NAME) === '1';
  } catch {
    return false;
  }
}

export const plainChoice = createStore<{ isPlain: boolean }>({ isPlain: read() });

/** Shows the editor for this message although the user writes plain text. The choice comes back with the next page. */
export const showEditor = (): void => plainChoice.set({ isPlain: false });

export function choosePlain(isPlain: boolean): void {
  plainChoice.set({ isPlain });
  try {
    if (isPlain) localStorage.setItem(NAME, '1');
    else localStorage.removeItem(NAME);
  } catch {
    // Storage is unavailable: the choice lasts until the page is closed.
  }
}
