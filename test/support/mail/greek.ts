/** Makes a second language from English: each Latin letter becomes a Greek one, so that untranslated English is visible. */
import { en } from '../../../web/shared/texts/en.ts';
import { enBoard } from '../../../web/shared/texts/en-board.ts';
import { enDocs } from '../../../web/shared/texts/en-docs.ts';
import { enMail } from '../../../web/shared/texts/en-mail.ts';
import { enMailCompose } from '../../../web/shared/texts/en-mail-compose.ts';
import { enMailSettings } from '../../../web/shared/texts/en-mail-settings.ts';
import { enOperator } from '../../../web/shared/texts/en-operator.ts';
import { enStorage } from '../../../web/shared/texts/en-storage.ts';
import { enWelcome } from '../../../web/shared/texts/en-welcome.ts';
import type { Language } from '../../../web/shared/texts/language.ts';

const LATIN = 'abcdefghijklmnopqrstuvwxyz';
const GREEK = 'αβψδεφγηιξκλμνοπθρστυωχζζς';
const toLetter = (letter: string): string => {
  const greek = GREEK[LATIN.indexOf(letter.toLowerCase())] ?? letter;
  return letter === letter.toLowerCase() ? greek : greek.toUpperCase();
};

/** Converts a text. Words in braces stay, because the page replaces them by values. */
export const toGreek = (text: string): string =>
  text.replaceAll(/\{\w+\}|[a-z]/gi, (match) => (match.startsWith('{') ? match : toLetter(match)));

export const toGreekTexts = <T>(value: T): T =>
  typeof value === 'string'
    ? (toGreek(value) as T)
    : Array.isArray(value)
      ? (value.map(toGreekTexts) as T)
      : (Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, toGreekTexts(part)])) as T);

export const ENGLISH: Language = {
  common: en,
  board: enBoard,
  docs: enDocs,
  mail: enMail,
  mailCompose: enMailCompose,
  mailSettings: enMailSettings,
  operator: enOperator,
  storage: enStorage,
  welcome: enWelcome,
};
