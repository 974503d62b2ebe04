import { storageTexts } from '../shared/texts/storage.ts';
import { showToast } from '../shared/toasts.tsx';

/**
 * Copies a text.
 * @returns false if the browser does not allow it. The caller then shows the text so that the user can select it.
 */
export const copyText = (text: string): Promise<boolean> =>
  navigator.clipboard.writeText(text).then(
    () => {
      showToast(storageTexts.copied);
      return true;
    },
    () => false,
  );
