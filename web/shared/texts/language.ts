/** Type of the default export of a file in `languages/`: every text of `en.ts` and of the `en-….ts` files beside it. */
import type { Texts } from './en.ts';
import type { enBoard } from './en-board.ts';
import type { enDocs } from './en-docs.ts';
import type { enMail } from './en-mail.ts';
import type { enMailCompose } from './en-mail-compose.ts';
import type { enMailSettings } from './en-mail-settings.ts';
import type { enOperator } from './en-operator.ts';
import type { enStorage } from './en-storage.ts';
import type { enWelcome } from './en-welcome.ts';

export interface Language {
  readonly common: Texts;
  readonly board: typeof enBoard;
  readonly docs: typeof enDocs;
  readonly mail: typeof enMail;
  readonly mailCompose: typeof enMailCompose;
  readonly mailSettings: typeof enMailSettings;
  readonly operator: typeof enOperator;
  readonly storage: typeof enStorage;
  readonly welcome: typeof enWelcome;
}
