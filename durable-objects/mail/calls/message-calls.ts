/** Calls about messages: storing, reading, searching and changing them, and their folders. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type {
  ParsedMessage,
  StoredMessage,
  StoreMessageError,
  StoreMessageInput,
} from '../contract/delivered-message.ts';
import type { FolderError, FolderRow } from '../contract/folders.ts';
import type { NoMailbox, ReadError } from '../contract/mailbox.ts';
import type {
  BatchPatch,
  BatchResult,
  ExportedMessage,
  LabelCounts,
  ListPlace,
  MessageDetail,
  MessageSummary,
  ThreadPage,
} from '../contract/messages.ts';
import type { FolderState, FormerUids, RebuildSource, Unheld } from '../contract/recovery.ts';
import type { BatchPlace, BatchRound, CompileError, SearchAnswer, SearchRequest } from '../contract/search.ts';
import { listUnheld } from '../database/blob-store.ts';
import { readMailbox } from '../database/store.ts';
import { storeMessage } from '../incoming/arrival-store.ts';
import { deleteFolder, deleteMessages, emptyFolder, patchMessages } from '../messages/batch-store.ts';
import { listForExport, listKnownRaws } from '../messages/export-store.ts';
import { createFolder, findFolder, isHidden, listFolders, renameFolder } from '../messages/folder-store.ts';
import { countLabels } from '../messages/label-store.ts';
import { listMessages, readMessage, readThreadMessages } from '../messages/message-read-store.ts';
import { findMessage } from '../messages/message-store.ts';
import { setMuted } from '../messages/quiet-store.ts';
import { listRebuildSources, rebuildMessage } from '../messages/rebuild-store.ts';
import { restoreFolders } from '../messages/snapshot-store.ts';
import { findThread } from '../messages/thread-store.ts';
import { adoptUids } from '../messages/uid-validity-store.ts';
import { changeFound } from '../search/batch-search-store.ts';
import { search } from '../search/search-store.ts';
import { MailboxObject } from './mailbox-object.ts';

export class MessageCalls extends MailboxObject {
  /** Stores a message. `index.ts` says what the caller must do before. */
  async storeMessage(input: StoreMessageInput): Promise<Result<StoredMessage, StoreMessageError>> {
    return this.transactions.write((sql, mailbox, now) => storeMessage(sql, mailbox, input, now));
  }

  /** Stores many messages in one transaction. Each has its own result, as from `storeMessage`. */
  async storeMessages(
    inputs: readonly StoreMessageInput[],
  ): Promise<Result<Result<StoredMessage, StoreMessageError>[], NoMailbox>> {
    return this.transactions.write((sql, _, now) =>
      ok(
        inputs.map((input) => {
          // The mailbox is read again for each message, because the previous message used some of the quota.
          const mailbox = readMailbox(sql);
          return mailbox ? storeMessage(sql, mailbox, input, now) : err({ kind: 'no_mailbox' });
        }),
      ),
    );
  }

  async listFolders(): Promise<Result<FolderRow[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listFolders(sql)));
  }

  async listMessages(folderKey: string, place: ListPlace, limit: number): Promise<Result<MessageSummary[], ReadError>> {
    return this.transactions.read((sql) => {
      const folder = findFolder(sql, folderKey);
      return folder ? ok(listMessages(sql, folder, place, limit)) : err({ kind: 'not_found' });
    });
  }

  async readMessage(messageId: string): Promise<Result<MessageDetail, ReadError>> {
    return this.transactions.read((sql) => {
      const found = findMessage(sql, messageId);
      const message = found && readMessage(sql, found.position);
      return message ? ok(message) : err({ kind: 'not_found' });
    });
  }

  /**
   * @returns messages after a position (exclusive), oldest first. A page has at most `limit` messages and a bounded length of
   * text.
   */
  async readThread(threadId: string, after: number, limit: number): Promise<Result<ThreadPage, ReadError>> {
    return this.transactions.read((sql) => {
      const thread = findThread(sql, threadId);
      if (thread === null) return err({ kind: 'not_found' });
      const page = readThreadMessages(sql, thread, after, limit);
      return page.messages.length > 0 ? ok(page) : err({ kind: 'not_found' });
    });
  }

  async setMuted(threadId: string, isMuted: boolean): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => {
      const thread = findThread(sql, threadId);
      if (thread === null) return err({ kind: 'not_found' });
      setMuted(sql, thread, isMuted, now);
      return ok(null);
    });
  }

  async search(request: SearchRequest): Promise<Result<SearchAnswer, CompileError | NoMailbox>> {
    return this.transactions.read((sql, _, now) => search(sql, request, now));
  }

  /** Changes messages in one transaction. Each message has its own outcome. */
  async patchMessages(
    ids: readonly string[],
    patch: BatchPatch,
  ): Promise<Result<BatchResult[], FolderError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => patchMessages(sql, ids, patch, now));
  }

  /** Moves messages to Trash. Erases messages that are already in Trash. */
  async deleteMessages(ids: readonly string[]): Promise<Result<BatchResult[], NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(deleteMessages(sql, ids, now)));
  }

  /** Changes one round of the messages that a search finds. To continue, call it again with the returned `next`. */
  async changeFound(
    query: string,
    place: BatchPlace | null,
    change: BatchPatch | 'delete',
  ): Promise<Result<BatchRound, CompileError | FolderError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => changeFound(sql, query, place, change, now));
  }

  async createFolder(name: string): Promise<Result<FolderRow, FolderError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => createFolder(sql, name, now));
  }

  async renameFolder(key: string, name: string): Promise<Result<FolderRow, FolderError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => renameFolder(sql, key, name, now));
  }

  /** Deletes a folder and its subfolders. Their messages move to Trash. */
  async deleteFolder(key: string): Promise<Result<null, FolderError | NoMailbox>> {
    for (;;) {
      const done = await this.transactions.write((sql, _, now) => deleteFolder(sql, key, now));
      if (!done.ok) return done;
      if (done.value === 0) return ok(null);
    }
  }

  /** Erases all messages in Junk or Trash. @returns how many were in the folder. */
  async emptyFolder(key: string): Promise<Result<number, FolderError | NoMailbox>> {
    let total = 0;
    for (;;) {
      const erased = await this.transactions.write<number, FolderError>((sql, _, now) => {
        const folder = findFolder(sql, key);
        if (!folder) return err({ kind: 'no_folder' });
        return isHidden(folder) ? ok(emptyFolder(sql, folder, now)) : err({ kind: 'folder_fixed' });
      });
      if (!erased.ok) return erased;
      if (erased.value === 0) return ok(total);
      total += erased.value;
    }
  }

  async countLabels(after: string, limit: number): Promise<Result<LabelCounts[], NoMailbox>> {
    return this.transactions.read((sql) => ok(countLabels(sql, after, limit)));
  }

  /** @returns those of the given hashes that belong to stored messages. */
  async listKnownRaws(rawSha256s: readonly string[]): Promise<Result<string[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listKnownRaws(sql, rawSha256s)));
  }

  async listForExport(
    folderKey: string | null,
    afterId: string | null,
    position: number | null,
    limit: number,
  ): Promise<Result<ExportedMessage[], ReadError>> {
    return this.transactions.read((sql) => listForExport(sql, folderKey, afterId, position, limit));
  }

  async listRebuildSources(after: number, limit: number): Promise<Result<RebuildSource[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listRebuildSources(sql, after, limit)));
  }

  async rebuildMessage(messageId: string, parsed: ParsedMessage): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => rebuildMessage(sql, messageId, parsed, now));
  }

  /** Gives a new mailbox the folders of a lost mailbox. @param uids null if a mailbox gets back only some of its messages. */
  async restoreFolders(folders: readonly FolderState[], uids: FormerUids | null): Promise<Result<null, NoMailbox>> {
    this.transactions.memory.isNumbered = false;
    this.transactions.memory.settledState = -1;
    return this.transactions.write((sql, _, now) => {
      restoreFolders(sql, folders, now);
      if (uids) adoptUids(sql, uids, now);
      return ok(null);
    });
  }

  /** @returns those of the given R2 keys that no row names. All keys must be under this mailbox's prefix. */
  async listUnheld(keys: readonly string[]): Promise<Result<Unheld, NoMailbox>> {
    return this.transactions.read((sql) => ok(listUnheld(sql, keys)));
  }
}
