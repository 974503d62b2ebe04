/** Rows of one folder, shared by the connections of an account that selected it. */
import type { FolderChanges, MessageRow } from './account-api.ts';
import type { Client } from './client.ts';

export interface Row {
  readonly uid: number;
  readonly messageId: string;
  readonly keywords: readonly string[];
  readonly sizeBytes: number;
  readonly receivedAtMs: number;
  readonly modseq: number;
}

/** The folder has other UIDs than before: its connections must end (RFC 3501 §2.3.1.1). */
export class UidValidityError extends Error {}

export class FolderMirror {
  readonly folderId: string;
  readonly #client: Client;
  #rows = new Map<number, Row>();
  #uidsByMessage = new Map<string, number>();
  #uids: number[] = [];
  #state = 0;
  #uidValidity = 0;
  #uidNext = 1;
  #isLoaded = false;
  #isInvalid = false;
  #version = 0;
  #sync: Promise<void> | null = null;
  #isSyncQueued = false;

  constructor(client: Client, folderId: string) {
    this.#client = client;
    this.folderId = folderId;
  }

  get state(): number {
    return this.#state;
  }
  get uidValidity(): number {
    return this.#uidValidity;
  }
  get uidNext(): number {
    return this.#uidNext;
  }
  /** Whether the UIDs changed, so that nothing known of them holds. */
  get isInvalid(): boolean {
    return this.#isInvalid;
  }
  /** Grows with each change of the rows. */
  get version(): number {
    return this.#version;
  }
  /** UIDs in ascending order. */
  get uids(): readonly number[] {
    return this.#uids;
  }

  find(uid: number): Row | undefined {
    return this.#rows.get(uid);
  }

  findByMessage(messageId: string): Row | undefined {
    const uid = this.#uidsByMessage.get(messageId);
    return uid === undefined ? undefined : this.#rows.get(uid);
  }

  /** Keywords that some message of the folder has. */
  listKeywords(): string[] {
    const keywords = new Set<string>();
    for (const row of this.#rows.values()) for (const keyword of row.keywords) keywords.add(keyword);
    return [...keywords];
  }

  /**
   * Reads what changed. A call during a running one is answered by a second one after it, because the first may have been too early.
   * @throws RequestError, UidValidityError
   */
  sync(): Promise<void> {
    if (this.#sync === null) {
      this.#sync = this.#syncOnce().finally(() => {
        this.#sync = null;
        this.#isSyncQueued = false;
      });
      return this.#sync;
    }
    if (this.#isSyncQueued) return this.#sync;
    this.#isSyncQueued = true;
    const again = () => this.#syncOnce();
    this.#sync = this.#sync.then(again, again).finally(() => {
      this.#sync = null;
      this.#isSyncQueued = false;
    });
    return this.#sync;
  }

  /** Adds rows that the answer to a change has. The next `sync` reads them again, because others may have changed the folder too. */
  apply(rows: readonly MessageRow[]): void {
    this.#version++;
    const added: number[] = [];
    for (const [uid, messageId, keywords, sizeBytes, receivedAtMs, modseq] of rows) {
      const former = this.#uidsByMessage.get(messageId);
      const known = this.#rows.get(uid);
      if (known && known.modseq > Number(modseq)) continue;
      if (former !== undefined && former > uid) continue;
      if (former !== undefined && former !== uid) this.#rows.delete(former);
      if (!known) added.push(uid);
      this.#rows.set(uid, {
        uid,
        messageId,
        keywords: intern(keywords),
        sizeBytes,
        receivedAtMs,
        modseq: Number(modseq),
      });
      this.#uidsByMessage.set(messageId, uid);
    }
    if (added.length > 0 || this.#uids.length !== this.#rows.size) this.#sort(added);
  }

  /** Removes messages that left the folder under these UIDs. */
  remove(uids: readonly number[]): void {
    this.#version++;
    for (const uid of uids) {
      const row = this.#rows.get(uid);
      if (!row) continue;
      this.#rows.delete(uid);
      if (this.#uidsByMessage.get(row.messageId) === uid) this.#uidsByMessage.delete(row.messageId);
    }
    if (this.#uids.length !== this.#rows.size) this.#sort([]);
  }

  async #syncOnce(): Promise<void> {
    if (!this.#isLoaded) return this.#load();
    const changes = await this.#client.json<FolderChanges>('GET', `/v1/imap/folders/${this.folderId}/changes`, {
      query: { since: String(this.#state) },
      isRepeatable: true,
    });
    this.#checkValidity(changes.uid_validity);
    if (changes.resync) return this.#load();
    const gone = changes.gone.flatMap((id) => this.#uidsByMessage.get(id) ?? []);
    this.remove(gone);
    this.apply(changes.messages);
    this.#state = Math.max(this.#state, Number(changes.state));
    this.#uidNext = changes.uid_next;
  }

  async #load(): Promise<void> {
    const page = await this.#client.readFolder(this.folderId);
    if (this.#isLoaded) this.#checkValidity(page.uid_validity);
    this.#rows = new Map();
    this.#uidsByMessage = new Map();
    this.#uids = [];
    this.apply(page.messages);
    this.#state = Number(page.state);
    this.#uidValidity = page.uid_validity;
    this.#uidNext = page.uid_next;
    this.#isLoaded = true;
  }

  #checkValidity(uidValidity: number): void {
    if (uidValidity === this.#uidValidity) return;
    this.#isInvalid = true;
    throw new UidValidityError();
  }

  #sort(added: readonly number[]): void {
    const kept = this.#uids.filter((uid) => this.#rows.has(uid));
    const last = kept.at(-1) ?? 0;
    const ascending = [...added].sort((a, b) => a - b);
    this.#uids = [...kept, ...ascending];
    if ((ascending[0] ?? Number.POSITIVE_INFINITY) <= last) this.#uids.sort((a, b) => a - b);
  }
}

const NO_KEYWORDS: readonly string[] = [];
const SEEN: readonly string[] = ['$seen'];
/** Most messages share one of two lists. */
const intern = (keywords: readonly string[]): readonly string[] =>
  keywords.length === 0 ? NO_KEYWORDS : keywords.length === 1 && keywords[0] === '$seen' ? SEEN : keywords;
