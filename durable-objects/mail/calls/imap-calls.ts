/** Calls of mail programs that speak IMAP, by way of a bridge. Each first gives UIDs to what has none. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { StoreMessageError } from '../contract/delivered-message.ts';
import type {
  ImapAccount,
  ImapAppend,
  ImapAppended,
  ImapChanges,
  ImapCopied,
  ImapExpunged,
  ImapMarked,
  ImapPage,
  ImapSource,
} from '../contract/imap.ts';
import type { NoMailbox, ReadError } from '../contract/mailbox.ts';
import { readState } from '../database/change-store.ts';
import { appendMessage, findSentSources } from '../imap/append-store.ts';
import {
  findImapFolder,
  listImapMessages,
  readImapAccount,
  readImapChanges,
  readImapSources,
} from '../imap/imap-read-store.ts';
import {
  type CopyError,
  copyToFolder,
  EXPUNGED_PER_ROUND,
  expungeFolder,
  type Marking,
  markInFolder,
} from '../imap/imap-write-store.ts';
import { findUnsettled, settleUids } from '../imap/uid-store.ts';
import { JmapCalls } from './jmap-calls.ts';

export class ImapCalls extends JmapCalls {
  async readImapAccount(): Promise<Result<ImapAccount, NoMailbox>> {
    await this.#settle();
    return this.transactions.read((sql, mailbox) => ok(readImapAccount(sql, mailbox)));
  }

  /** @param folderKey id or role of a folder that holds messages. */
  async listImapMessages(folderKey: string, afterUid: number, limit: number): Promise<Result<ImapPage, ReadError>> {
    await this.#settle();
    return this.transactions.read((sql) => {
      const folder = findImapFolder(sql, folderKey);
      return folder ? ok(listImapMessages(sql, folder, afterUid, limit)) : err({ kind: 'not_found' });
    });
  }

  async readImapChanges(folderKey: string, since: number): Promise<Result<ImapChanges, ReadError>> {
    await this.#settle();
    return this.transactions.read((sql) => {
      const folder = findImapFolder(sql, folderKey);
      return folder ? ok(readImapChanges(sql, folder, since)) : err({ kind: 'not_found' });
    });
  }

  /** @returns where the bytes of those of the messages are that exist. */
  async readImapSources(messageIds: readonly string[]): Promise<Result<ImapSource[], NoMailbox>> {
    return this.transactions.read((sql) => ok(readImapSources(sql, messageIds)));
  }

  async markInFolder(folderKey: string, marking: Marking): Promise<Result<ImapMarked, ReadError>> {
    await this.#settle();
    return this.transactions.write((sql, _, now) => {
      const folder = findImapFolder(sql, folderKey);
      return folder ? ok(markInFolder(sql, folder, marking, now)) : err({ kind: 'not_found' });
    });
  }

  async copyToFolder(
    request: { readonly fromKey: string; readonly toKey: string; readonly isMove: boolean },
    messageIds: readonly string[],
  ): Promise<Result<ImapCopied, ReadError | CopyError>> {
    await this.#settle();
    return this.transactions.write<ImapCopied, ReadError | CopyError>((sql, _, now) => {
      const [from, to] = [findImapFolder(sql, request.fromKey), findImapFolder(sql, request.toKey)];
      if (!from || !to) return err({ kind: 'not_found' });
      return copyToFolder(sql, { from, to, isMove: request.isMove }, messageIds, now);
    });
  }

  /** Stores a message in a folder. Its raw bytes must be in a quorum of the locations before the call. */
  async appendMessage(append: ImapAppend): Promise<Result<ImapAppended, StoreMessageError>> {
    await this.#settle();
    return this.transactions.write((sql, mailbox, now) => appendMessage(sql, mailbox, append, now));
  }

  /** @returns the messages with a Message-ID that were submitted here. */
  async findSentSources(headerMessageId: string): Promise<Result<ImapSource[], NoMailbox>> {
    return this.transactions.read((sql) => ok(findSentSources(sql, headerMessageId)));
  }

  /** Removes messages that are marked for removal. @param messageIds null for all of the folder. */
  async expungeFolder(
    folderKey: string,
    messageIds: readonly string[] | null,
  ): Promise<Result<ImapExpunged, ReadError>> {
    await this.#settle();
    const gone: (readonly [string, number])[] = [];
    for (;;) {
      const round = await this.transactions.write<ImapExpunged, ReadError>((sql, _, now) => {
        const folder = findImapFolder(sql, folderKey);
        if (!folder) return err({ kind: 'not_found' });
        return ok(expungeFolder(sql, folder, messageIds, now));
      });
      if (!round.ok) return round;
      gone.push(...round.value.gone);
      if (messageIds !== null || round.value.gone.length < EXPUNGED_PER_ROUND) return ok({ ...round.value, gone });
    }
  }

  /** Gives UIDs to placings and drafts that need new ones. Writes only if there are any. */
  async #settle(): Promise<void> {
    const { memory } = this.transactions;
    const found = this.transactions.read((sql) => {
      const state = readState(sql);
      const isSettled = memory.settledState === state;
      return ok({ state, unsettled: isSettled ? null : findUnsettled(sql, memory.isNumbered) });
    });
    if (!found.ok) return;
    const { unsettled } = found.value;
    if (unsettled) await this.transactions.write((sql, _, now) => ok(settleUids(sql, unsettled, now)));
    else memory.settledState = found.value.state;
    memory.isNumbered = true;
  }
}
