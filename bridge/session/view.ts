/**
 * The sequence numbers that one connection has been told for the messages of its selected folder. The rows change with each sync; the
 * numbers change only when the client was told.
 */
import type { Folder } from './account-api.ts';
import type { FolderMirror, Row } from './folder-mirror.ts';
import { toFlag } from './mailbox-name.ts';
import { findAtLeast, type SequenceSet, selectNumbers } from './sequence-set.ts';

export interface ViewOptions {
  readonly isReadOnly: boolean;
  /** Whether answers with flags also have the change number (RFC 7162 §3.1). */
  readonly hasModseq: () => boolean;
}

export class View {
  readonly folder: Folder;
  readonly mirror: FolderMirror;
  readonly isReadOnly: boolean;
  readonly #hasModseq: () => boolean;
  #uids: number[];
  /** Change number up to which the client knows all flags, and newer ones of single messages. */
  #toldState: number;
  /** Version of the rows that the client knows. */
  #toldVersion: number;
  readonly #told = new Map<number, number>();

  constructor(folder: Folder, mirror: FolderMirror, { isReadOnly, hasModseq }: ViewOptions) {
    this.folder = folder;
    this.mirror = mirror;
    this.isReadOnly = isReadOnly;
    this.#hasModseq = hasModseq;
    this.#uids = [...mirror.uids];
    this.#toldState = mirror.state;
    this.#toldVersion = mirror.version;
  }

  get count(): number {
    return this.#uids.length;
  }
  get uids(): readonly number[] {
    return this.#uids;
  }

  /** @returns the sequence number of a UID, or 0 if the client does not know it. */
  sequenceOf(uid: number): number {
    const at = findAtLeast(this.#uids, uid);
    return this.#uids[at] === uid ? at + 1 : 0;
  }

  /** @returns the UIDs of a set, or null if it has a sequence number that does not exist. */
  select(set: SequenceSet, isUid: boolean): number[] | null {
    if (isUid) return selectNumbers(set, this.#uids);
    const isOutside = set.some(([from, to]) => [from, to].some((end) => Number.isFinite(end) && end > this.count));
    if (isOutside || (this.count === 0 && set.length > 0)) return null;
    const numbers = Array.from({ length: this.count }, (_, at) => at + 1);
    return selectNumbers(set, numbers).map((number) => this.#uids[number - 1] as number);
  }

  /** @returns an untagged FETCH with the flags of a row. The client then knows them. */
  tellFlags(row: Row): string {
    this.noteTold(row);
    const modseq = this.#hasModseq() ? ` MODSEQ (${row.modseq})` : '';
    return `* ${this.sequenceOf(row.uid)} FETCH (UID ${row.uid} FLAGS ${toFlagList(row)}${modseq})\r\n`;
  }

  /** Records that the client knows the flags of a row, or made them itself. */
  noteTold(row: Row): void {
    if (row.modseq > this.#toldState) this.#told.set(row.uid, row.modseq);
  }

  /**
   * @param canExpunge false while sequence numbers must stay: in the answers to FETCH, STORE and SEARCH (RFC 3501 §7.4.1).
   * @returns what changed since the client was last told.
   */
  takeChanges(canExpunge: boolean): string {
    const { version } = this.mirror;
    if (version === this.#toldVersion) return '';
    if (canExpunge) this.#toldVersion = version;
    return (canExpunge ? this.takeExpunged() : '') + this.#takeChangedFlags() + this.#takeNew();
  }

  /** @returns an EXPUNGE for each message that is gone, the last first. */
  takeExpunged(): string {
    const lines: string[] = [];
    for (let at = this.#uids.length - 1; at >= 0; at--)
      if (!this.mirror.find(this.#uids[at] as number)) lines.push(`* ${at + 1} EXPUNGE\r\n`);
    if (lines.length > 0) this.#uids = this.#uids.filter((uid) => this.mirror.find(uid));
    return lines.join('');
  }

  #takeChangedFlags(): string {
    if (this.mirror.state === this.#toldState) return '';
    const lines: string[] = [];
    for (const uid of this.#uids) {
      const row = this.mirror.find(uid);
      if (row && row.modseq > this.#toldState && row.modseq > (this.#told.get(uid) ?? 0))
        lines.push(this.tellFlags(row));
    }
    this.#toldState = this.mirror.state;
    for (const [uid, modseq] of this.#told) if (modseq <= this.#toldState) this.#told.delete(uid);
    return lines.join('');
  }

  #takeNew(): string {
    const last = this.#uids.at(-1) ?? 0;
    const added = this.mirror.uids.slice(findAtLeast(this.mirror.uids, last + 1));
    if (added.length === 0) return '';
    this.#uids.push(...added);
    return `* ${this.count} EXISTS\r\n`;
  }
}

export const toFlagList = (row: Row): string => `(${row.keywords.map(toFlag).join(' ')})`;
