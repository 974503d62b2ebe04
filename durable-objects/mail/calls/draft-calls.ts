/** Calls about drafts and the files uploaded for them. */

import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type {
  Draft,
  DraftContent,
  DraftError,
  Idempotency,
  KeptMessage,
  Upload,
  UploadError,
} from '../contract/drafts.ts';
import type { NoMailbox, ReadError } from '../contract/mailbox.ts';
import { createDraft, deleteDraft, readDraft, replaceDraft } from '../drafts/draft-store.ts';
import { findKeptDraft, keepDraft } from '../drafts/kept-draft-store.ts';
import { insertUpload, readUploads } from '../messages/upload-store.ts';
import { MessageCalls } from './message-calls.ts';
import { orNotFound } from './transactions.ts';

export class DraftCalls extends MessageCalls {
  /** Records an upload. Call it once the bytes are in a quorum of the locations. On an error, the caller deletes the bytes. */
  async insertUpload(upload: Upload): Promise<Result<Upload, UploadError | NoMailbox>> {
    return this.transactions.write((sql, mailbox, now) => insertUpload(sql, mailbox, upload, now));
  }

  /** @returns the uploads of this mailbox among the ids, in the order of the ids. */
  async readUploads(ids: readonly string[]): Promise<Result<Upload[], NoMailbox>> {
    return this.transactions.read((sql) => ok(readUploads(sql, ids)));
  }

  /** @param cleanedHtml `content.html`, cleaned by the caller so that it is safe to show. */
  async createDraft(content: DraftContent, cleanedHtml: string | null): Promise<Result<Draft, DraftError | NoMailbox>> {
    return this.transactions.write((sql, mailbox, now) => createDraft(sql, mailbox, content, cleanedHtml, now));
  }

  /**
   * Keeps a message that exceeds the sending limit as a draft.
   * @returns the draft's id. A repeated Idempotency-Key gets the draft of the first request.
   */
  async keepDraft(message: KeptMessage): Promise<Result<string, DraftError | NoMailbox>> {
    return this.transactions.write((sql, mailbox, now) => keepDraft(sql, mailbox, message, now));
  }

  /** @returns the id of the draft in which an earlier, identical request was kept; null if there is none. */
  async findKeptDraft(idempotency: Idempotency): Promise<Result<string | null, NoMailbox>> {
    return this.transactions.read((sql) => {
      const kept = findKeptDraft(sql, idempotency);
      return ok(kept?.isSameRequest ? kept.messageId : null);
    });
  }

  /**
   * @param revision the last revision that the author saw. If the draft has a later one, the save is rejected. Null saves in any
   * case.
   */
  async replaceDraft(
    draftId: string,
    content: DraftContent,
    cleanedHtml: string | null,
    revision: number | null,
  ): Promise<Result<Draft, DraftError | NoMailbox>> {
    const request = { content, cleanedHtml, revision };
    return this.transactions.write((sql, mailbox, now) => replaceDraft(sql, mailbox, draftId, request, now));
  }

  async readDraft(draftId: string): Promise<Result<Draft, ReadError>> {
    return this.transactions.read((sql) => {
      const draft = readDraft(sql, draftId);
      return draft ? ok(draft) : err({ kind: 'not_found' });
    });
  }

  /** @returns those of the drafts that exist. */
  async readDrafts(draftIds: readonly string[]): Promise<Result<Draft[], NoMailbox>> {
    return this.transactions.read((sql) => ok(draftIds.flatMap((id) => readDraft(sql, id) ?? [])));
  }

  async deleteDraft(draftId: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(deleteDraft(sql, draftId, now)));
  }
}
