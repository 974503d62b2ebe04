/** The texts of the compose window, loaded with it. */
import { enMailCompose } from './en-mail-compose.ts';
import { inLanguage } from './index.ts';

export const mailComposeTexts = inLanguage('mailCompose', enMailCompose);
