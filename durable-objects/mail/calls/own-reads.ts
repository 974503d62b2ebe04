/**
 * Reads that check the caller's credential in the same call. A request that only reads therefore makes one call of the mailbox.
 * Nothing else runs between the check and the read.
 */
import type { Result } from '../../../workers/shared/pure/result.ts';
import type { CallerProof, OwnRead } from '../contract/credentials.ts';
import type { ListPlace } from '../contract/messages.ts';
import type { SearchRequest } from '../contract/search.ts';
import { CredentialCalls } from './credential-calls.ts';

/** `OwnRead` with the answer type of a call. */
type Own<Call extends (...args: never[]) => Promise<Result<unknown, unknown>>> = Promise<
  OwnRead<Awaited<ReturnType<Call>>>
>;

export class OwnReads extends CredentialCalls {
  async listOwnFolders(proof: CallerProof): Own<CredentialCalls['listFolders']> {
    return this.#readFor(proof, () => this.listFolders());
  }

  async listOwnMessages(
    proof: CallerProof,
    folderKey: string,
    place: ListPlace,
    limit: number,
  ): Own<CredentialCalls['listMessages']> {
    return this.#readFor(proof, () => this.listMessages(folderKey, place, limit));
  }

  async readOwnMessage(proof: CallerProof, messageId: string): Own<CredentialCalls['readMessage']> {
    return this.#readFor(proof, () => this.readMessage(messageId));
  }

  async readOwnThread(
    proof: CallerProof,
    threadId: string,
    after: number,
    limit: number,
  ): Own<CredentialCalls['readThread']> {
    return this.#readFor(proof, () => this.readThread(threadId, after, limit));
  }

  async searchOwn(proof: CallerProof, request: SearchRequest): Own<CredentialCalls['search']> {
    return this.#readFor(proof, () => this.search(request));
  }

  async countOwnLabels(proof: CallerProof, after: string, limit: number): Own<CredentialCalls['countLabels']> {
    return this.#readFor(proof, () => this.countLabels(after, limit));
  }

  async readOwnDraft(proof: CallerProof, draftId: string): Own<CredentialCalls['readDraft']> {
    return this.#readFor(proof, () => this.readDraft(draftId));
  }

  async listOwnFilters(proof: CallerProof): Own<CredentialCalls['listFilters']> {
    return this.#readFor(proof, () => this.listFilters());
  }

  async listOwnContacts(
    proof: CallerProof,
    ...query: Parameters<CredentialCalls['listContacts']>
  ): Own<CredentialCalls['listContacts']> {
    return this.#readFor(proof, () => this.listContacts(...query));
  }

  async readOwnJmapFolders(proof: CallerProof, withThreads: boolean): Own<CredentialCalls['readJmapFolders']> {
    return this.#readFor(proof, () => this.readJmapFolders(withThreads));
  }

  async readOwnImapAccount(proof: CallerProof): Own<CredentialCalls['readImapAccount']> {
    return this.#readFor(proof, () => this.readImapAccount());
  }

  async listOwnImapMessages(
    proof: CallerProof,
    ...query: Parameters<CredentialCalls['listImapMessages']>
  ): Own<CredentialCalls['listImapMessages']> {
    return this.#readFor(proof, () => this.listImapMessages(...query));
  }

  async readOwnImapChanges(
    proof: CallerProof,
    ...query: Parameters<CredentialCalls['readImapChanges']>
  ): Own<CredentialCalls['readImapChanges']> {
    return this.#readFor(proof, () => this.readImapChanges(...query));
  }

  async #readFor<T>(proof: CallerProof, read: () => Promise<T>): Promise<OwnRead<T>> {
    if (proof === 'checked_by_worker') return { caller: null, answer: await read() };
    const caller = await this.identify(proof.secretSha256);
    return caller && { caller, answer: await read() };
  }
}
