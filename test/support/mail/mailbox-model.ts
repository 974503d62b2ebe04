/** The model of a mailbox, in plain arrays and maps. Random operations compare the real mailbox with it. */
import { toBaseSubject } from '../../../workers/mail/domain/base-subject.ts';
import type { FilterRule } from '../../../workers/mail/domain/filter-rule.ts';

export const WORDS = ['apple', 'pear', 'plum', '東京', '会議'] as const;
export const LIMIT_BYTES = 60_000;

export interface ModelThread {
  readonly ids: Set<string>;
  readonly base: string;
  readonly ordinal: number;
  lacksRoot: boolean;
}

export interface ModelMessage {
  readonly id: string;
  readonly origin: 'received' | 'imported' | 'sent' | 'draft';
  /** Folder id. */
  folder: string;
  isRead: boolean;
  isFlagged: boolean;
  labels: readonly string[];
  sizeBytes: number;
  words: readonly string[];
  hasFile: boolean;
  thread: ModelThread;
  /** When it came, in milliseconds since 1970. Null for a draft, which has neither a sender nor recipients here. */
  readonly receivedAt: number | null;
  /** SHA-256 of the raw bytes; null for a draft. */
  readonly rawSha256: string | null;
  /** Drafts only: number of saves. */
  revision: number;
  /** Sent messages only: still held, so the user can undo sending. */
  isHeld: boolean;
  /** Sent messages only: sizes of the attachments. */
  readonly fileBytes: readonly number[];
}

export interface ModelUpload {
  readonly id: string;
  readonly sizeBytes: number;
  /** Id of the draft that uses the upload. */
  holder: string | null;
}

export interface Threaded {
  /** The message's own Message-ID and those that it references. */
  readonly ids: readonly string[];
  readonly namesParent: boolean;
  readonly subject: string;
  readonly receivedAt: number | null;
}

/** Longest time between messages that only their subject joins. */
const SUBJECT_AGE_MAX_MS = 5 * 86_400_000;

export class Model {
  messages: ModelMessage[] = [];
  threads: ModelThread[] = [];
  uploads: ModelUpload[] = [];
  /** In execution order. */
  rules: { id: string; rule: FilterRule }[] = [];
  /** Folders that the user created: id → name. */
  readonly own = new Map<string, string>();
  /** Folders with roles: role → id. */
  readonly roles = new Map<string, string>();
  /** Every id under which a thread was ever returned. */
  readonly shownThreads = new Map<string, ModelThread>();
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

  assign({ ids, namesParent, subject, receivedAt }: Threaded): ModelThread {
    const { base, isReply } = toBaseSubject(subject);
    let found = this.threads.filter((thread) => ids.some((id) => thread.ids.has(id)));
    if (found.length === 0 && !namesParent && base !== '') {
      const alike = this.threads.filter((thread) => thread.base === base && (isReply || thread.lacksRoot));
      found = alike
        .filter((thread) => this.#isRecent(thread, receivedAt))
        .sort((a, b) => b.ordinal - a.ordinal)
        .slice(0, 1);
    }
    const [oldest, ...others] = found.sort((a, b) => a.ordinal - b.ordinal);
    const thread = oldest ?? this.#makeThread(base, isReply && !namesParent);
    for (const other of others) this.#merge(other, thread);
    if (oldest && (!isReply || namesParent)) thread.lacksRoot = false;
    for (const id of ids) thread.ids.add(id);
    return thread;
  }

  /** All received messages here are from and to the same people, so a message near in time is enough to join by subject. */
  #isRecent(thread: ModelThread, receivedAt: number | null): boolean {
    if (receivedAt === null) return false;
    const times = this.messages.flatMap((each) => (each.thread === thread ? (each.receivedAt ?? []) : []));
    return times.some((time) => Math.abs(time - receivedAt) <= SUBJECT_AGE_MAX_MS);
  }

  #makeThread(base: string, lacksRoot: boolean): ModelThread {
    this.#threadsCreated += 1;
    const thread = { ids: new Set<string>(), base, ordinal: this.#threadsCreated, lacksRoot };
    this.threads.push(thread);
    return thread;
  }

  #merge(from: ModelThread, into: ModelThread): void {
    for (const id of from.ids) into.ids.add(id);
    for (const message of this.messages) if (message.thread === from) message.thread = into;
    for (const [shown, thread] of this.shownThreads) if (thread === from) this.shownThreads.set(shown, into);
    this.threads = this.threads.filter((thread) => thread !== from);
  }

  /** Deletes the thread if it has no messages. */
  release(thread: ModelThread): void {
    if (this.messages.some((message) => message.thread === thread)) return;
    this.threads = this.threads.filter((each) => each !== thread);
    for (const [shown, each] of this.shownThreads) if (each === thread) this.shownThreads.delete(shown);
  }

  erase(message: ModelMessage): void {
    this.messages = this.messages.filter((each) => each !== message);
    this.uploads = this.uploads.filter(({ holder }) => holder !== message.id);
    this.release(message.thread);
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
        if (action.type === 'label') message.labels = [...new Set([...message.labels, action.label])];
        if (action.type === 'trash') folder = this.role('trash');
        if (action.type === 'move') folder = action.folder_id;
      }
      if (actions.some((action) => action.type === 'stop')) break;
    }
    if (this.own.has(folder) || [...this.roles.values()].includes(folder)) message.folder = folder;
  }
}
