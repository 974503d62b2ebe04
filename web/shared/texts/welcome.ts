/** The texts of the start page. Only that page loads them. */
import { enWelcome } from './en-welcome.ts';
import { inLanguage } from './index.ts';

export const welcomeTexts = inLanguage('welcome', enWelcome);
