/** The model of a mailbox, in plain arrays and maps. The real mailbox is compared with it after random operations. */
import { toBaseSubject } from '../../../durable-objects/mail/domain/base-subject.ts';
import type { FilterRule } from '../../../workers/mail/domain/filter-rule.ts';

export const WORDS = ['apple', 'pear', 'plum', '東京', '会議'] as const;
export const LIMIT_BYTES = 60_000;

export type ModelThread = { readonly number: number };

export interface ModelMessage {
  readonly id: string;
  readonly origin: 'received' | 'imported' | 'sent' | 'draft';
  /** Id of the folder that has the message. */
  folder: string;
  isRead: boolean;
  isFlagged: boolean;
  labels: readonly string[];
  sizeBytes: number;
  words: readonly string[];
  hasFile: boolean;
  thread: ModelThread;
  /** Facts of the message that decide its thread. */
  threaded: Threaded;
  /** Time of arrival in milliseconds since 1970. Null for a draft, which has neither a sender nor recipients here. */
  readonly receivedAt: number | null;
  /** SHA-256 of the raw bytes; null for a draft. */
  readonly rawSha256: string | null;
  /** Number of saves; for drafts only. */
  revision: number;
  /** Whether the message is still held, so that the user can undo sending it. For sent messages only. */
  isHeld: boolean;
  /** Sizes of the attachments in bytes; for sent messages only. */
  readonly fileBytes: readonly number[];
}

export interface ModelUpload {
  readonly id: string;
  readonly sizeBytes: number;
  /** Id of the draft that uses the upload; null if none does. */
  holder: string | null;
}

export interface Threaded {
  /** Message-IDs that find the thread: the nearest parent first, the message's own id last. */
  readonly ids: readonly string[];
  readonly namesParent: boolean;
  readonly subject: string;
  readonly receivedAt: number | null;
}

/** Longest time between messages that are joined only by their subject. */
const SUBJECT_AGE_MAX_MS = 5 * 86_400_000;

export class Model {
  messages: ModelMessage[] = [];
  uploads: ModelUpload[] = [];
  /** Filter rules in the order of their execution. */
  rules: { id: string; rule: FilterRule }[] = [];
  /** Names of the folders that the user created, by id. */
  readonly own = new Map<string, string>();
  /** Ids of the folders with roles, by role. */
  readonly roles = new Map<string, string>();
  /** Threads by every id under which they were ever returned. */
  readonly shownThreads = new Map<string, ModelThread>();
  /** Threads by Message-ID. An id that messages have or name belongs to the thread that had it first. */
  readonly #references = new Map<string, ModelThread>();
  #threadsCreated = 0;

  role(role: string): string {
    const id = this.roles.get(role);
    if (id === undefined) throw new Error(`Folder ${role} not found.`);
    return id;
  }

  isHidden(folder: string): boolean {
    return folder === this.role('junk') || folder === this.role('trash');
  }

  get usedBytes(): number {
    return [...this.messages, ...this.uploads].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  assign(threaded: Threaded): ModelThread {
    const thread = this.#findByIds(threaded) ?? this.#findBySubject(threaded) ?? { number: this.#threadsCreated++ };
    this.#keep(thread, threaded);
    return thread;
  }

  /** Decides the thread of a saved draft again. The draft moves only to the thread of a parent that it names now. */
  reassign(draft: ModelMessage, threaded: Threaded): void {
    const { thread: left, threaded: before } = draft;
    draft.thread = this.#findByIds(threaded) ?? left;
    draft.threaded = threaded;
    this.#keep(draft.thread, threaded);
    this.#forget(left, before);
  }

  #findByIds({ ids }: Threaded): ModelThread | undefined {
    return ids.map((id) => this.#references.get(id)).find((thread) => thread !== undefined);
  }

  #keep(thread: ModelThread, { ids }: Threaded): void {
    for (const id of ids) if (!this.#references.has(id)) this.#references.set(id, thread);
  }

  /**
   * Finds a thread by its subject. A subject joins messages of the same people that are near in time. All received messages here
   * have the same people, so only the time decides.
   */
  #findBySubject({ namesParent, subject, receivedAt }: Threaded): ModelThread | undefined {
    const { base, isReply } = toBaseSubject(subject);
    if (namesParent || base === '' || receivedAt === null) return undefined;
    const near = this.messages
      .filter((each) => each.receivedAt !== null && Math.abs(each.receivedAt - receivedAt) <= SUBJECT_AGE_MAX_MS)
      .filter((each) => toBaseSubject(each.threaded.subject).base === base)
      .filter((each) => isReply || this.#lacksOriginal(each.thread));
    // Returns the newest message; of several with the same time, the last to arrive.
    return near.reduce<ModelMessage | undefined>(
      (best, each) => (best && (best.receivedAt ?? 0) > (each.receivedAt ?? 0) ? best : each),
      undefined,
    )?.thread;
  }

  #lacksOriginal(thread: ModelThread): boolean {
    const inside = this.messages.filter((each) => each.thread === thread);
    return inside.every(({ threaded }) => !threaded.namesParent && toBaseSubject(threaded.subject).isReply);
  }

  #forget(thread: ModelThread, { ids }: Threaded): void {
    const inside = this.messages.filter((each) => each.thread === thread);
    const named = new Set(inside.flatMap(({ threaded }) => threaded.ids));
    for (const id of ids) if (!named.has(id) && this.#references.get(id) === thread) this.#references.delete(id);
    if (inside.length > 0) return;
    for (const [shown, each] of this.shownThreads) if (each === thread) this.shownThreads.delete(shown);
  }

  erase(message: ModelMessage): void {
    this.messages = this.messages.filter((each) => each !== message);
    this.uploads = this.uploads.filter(({ holder }) => holder !== message.id);
    this.#forget(message.thread, message.threaded);
  }

  find(id: string): ModelMessage | undefined {
    return this.messages.find((message) => message.id === id);
  }

  /** Applies the rules to a message. The last move wins, if its folder still exists. */
  follow(rules: readonly FilterRule[], message: ModelMessage): void {
    let folder = message.folder;
    for (const { conditions, actions } of rules) {
      const [condition] = conditions;
      const isMet =
        condition?.field === 'body'
          ? message.words.some((word) => word === condition.value)
          : condition?.field === 'has_attachment' && message.hasFile;
      if (!isMet) continue;
      for (const action of actions) {
        if (action.type === 'mark_read') message.isRead = true;
        if (action.type === 'flag') message.isFlagged = true;
        if (action.type === 'label') message.labels = [...new Set([...message.labels, action.label])].sort();
        if (action.type === 'trash') folder = this.role('trash');
        if (action.type === 'move') folder = action.folder_id;
      }
      if (actions.some((action) => action.type === 'stop')) break;
    }
    if (this.own.has(folder) || [...this.roles.values()].includes(folder)) message.folder = folder;
  }
}
