/** The texts of the storage page. Only that page loads them. */
import { enStorage } from './en-storage.ts';
import { inLanguage } from './index.ts';

export const storageTexts = inLanguage('storage', enStorage);
