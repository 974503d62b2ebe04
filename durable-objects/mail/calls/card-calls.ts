/** Calls about cards: contacts as programs of CardDAV read and write them. */
import { ok, type Result } from '../../../workers/shared/pure/result.ts';
import type {
  Card,
  CardBook,
  CardChangePage,
  CardChangePlace,
  CardCondition,
  CardError,
  CardPage,
  NewCard,
  SavedCard,
} from '../contract/cards.ts';
import type { NoMailbox } from '../contract/mailbox.ts';
import {
  deleteCard,
  listCardChanges,
  listCards,
  type PageBounds,
  readCardBook,
  readCards,
  saveCard,
} from '../rules/card-store.ts';
import { RuleCalls } from './rule-calls.ts';

export class CardCalls extends RuleCalls {
  /** @param isWhole whether the caller will read all cards. */
  async readCardBook(isWhole: boolean): Promise<Result<CardBook, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(readCardBook(sql, isWhole, now)));
  }

  /** Lists cards by name. @param after name after which the page begins; empty for the first page. */
  async listCards(after: string, bounds: PageBounds): Promise<Result<CardPage, NoMailbox>> {
    return this.transactions.read((sql) => ok(listCards(sql, after, bounds)));
  }

  /** Lists cards that changed or were deleted after a place. */
  async listCardChanges(after: CardChangePlace, bounds: PageBounds): Promise<Result<CardChangePage, NoMailbox>> {
    return this.transactions.read((sql) => ok(listCardChanges(sql, after, bounds)));
  }

  /** Reads cards by name, as many of them in order as fit. `read` is the number of names that were looked at. */
  async readCards(
    names: readonly string[],
    bytesMax: number,
  ): Promise<Result<{ readonly cards: Card[]; readonly read: number }, NoMailbox>> {
    return this.transactions.read((sql) => ok(readCards(sql, names, bytesMax)));
  }

  async saveCard(card: NewCard, condition: CardCondition): Promise<Result<SavedCard, CardError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => saveCard(sql, card, condition, now));
  }

  async deleteCard(name: string, condition: CardCondition): Promise<Result<null, CardError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => deleteCard(sql, name, condition, now));
  }
}
