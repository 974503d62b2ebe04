/** The texts of the mail settings, loaded with them. */
import { enMailSettings } from './en-mail-settings.ts';
import { inLanguage } from './index.ts';

export const mailSettingsTexts = inLanguage('mailSettings', enMailSettings);
