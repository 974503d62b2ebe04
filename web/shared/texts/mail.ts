/** The texts of the mail page. Only that page loads them. */
import { enMail } from './en-mail.ts';
import { inLanguage } from './index.ts';

export const mailTexts = inLanguage('mail', enMail);
