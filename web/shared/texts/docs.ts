/** The texts of the API reference. Only that page loads them. */
import { enDocs } from './en-docs.ts';
import { inLanguage } from './index.ts';

export const docsTexts = inLanguage('docs', enDocs);
