import { storageTexts } from '../shared/texts/storage.ts';
import { showToast } from '../shared/toasts.tsx';

/** @returns false if the browser does not allow it. The caller then shows the text to select. */
export const copyText = (text: string): Promise<boolean> =>
  navigator.clipboard.writeText(text).then(
    () => {
      showToast(storageTexts.copied);
      return true;
    },
    () => false,
  );
