/** Rows of an archive of 0.2.0 on their way into the copy of a sealed shard: their digest, and the parts that have them. */
import type { ArchivedEntry } from '../../../workers/leaderboard/records/archive-files.ts';
import { PAGES_PER_PART, type PartContent, type SlotsHead } from '../domain/copy-file.ts';
import type { Move, PlayerRow } from '../domain/player-rows.ts';
import { ABSENT, pageOfSlot, SLOTS_PER_PAGE, slotInPage } from '../domain/slot-keys.ts';

/** Listed players, and the sum of the digests of their rows, which does not depend on the order. */
export interface RowTally {
  readonly players: number;
  readonly digest: number;
}

export const NO_ROWS: RowTally = { players: 0, digest: 0 };

const DIGESTS = 2 ** 52;

/** The row of a player who is listed: neither hidden nor erased. */
export const isListed = ([userId, , , , isHidden]: ArchivedEntry): boolean => userId !== '' && isHidden !== true;

export function addRow({ players, digest }: RowTally, row: ArchivedEntry): RowTally {
  return { players: players + 1, digest: (digest + digestOf(row)) % DIGESTS };
}

/** 52 bits of two FNV-1a hashes of a row with different starts. */
function digestOf([userId, userName, score, reached]: ArchivedEntry): number {
  const text = `${userId}\n${userName}\n${score}\n${reached}`;
  let [a, b] = [0x811c9dc5, 0x1b873593];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ (unit + i), 0x01000193);
  }
  return (a >>> 0) * 2 ** 20 + ((b ^ (b >>> 12)) >>> 12);
}

/** Fills one part of a copy. Slots are given in the order of the rows, from 1 on. */
export class PartFiller {
  readonly #firstPage: number;
  readonly #end: number;
  #slot: number;
  #last = { score: ABSENT, reached: 0 };
  readonly #players: PlayerRow[] = [];
  readonly #hidden: Move[] = [];
  readonly pages: Float64Array[] = [];

  /** @param number number of the part, from 0 */
  constructor(number: number) {
    this.#firstPage = number * PAGES_PER_PART;
    this.#slot = Math.max(1, this.#firstPage * SLOTS_PER_PAGE);
    this.#end = (this.#firstPage + PAGES_PER_PART) * SLOTS_PER_PAGE;
  }

  get isFull(): boolean {
    return this.#slot === this.#end;
  }

  /** Adds a row. That of an erased player has a place in the list, and no player. */
  add([userId, userName, score, time, isHidden]: ArchivedEntry): void {
    const slot = this.#slot++;
    let reached = time;
    if (userId === '') {
      // Erased players of several shards may have one time. In one shard, they are told apart by it.
      if (score === this.#last.score) reached = Math.max(reached, this.#last.reached + 1);
      this.#last = { score, reached };
    } else this.#players.push({ slot, userId, userName: userName === userId ? null : userName });
    const number = pageOfSlot(slot) - this.#firstPage;
    while (this.pages.length <= number) this.pages.push(new Float64Array(SLOTS_PER_PAGE * 2).fill(ABSENT));
    if (isHidden) this.#hidden.push({ slot, score, reached });
    else (this.pages[number] as Float64Array).set([score, reached], slotInPage(slot) * 2);
  }

  toPart(): PartContent<SlotsHead> {
    const head = { firstPage: this.#firstPage, players: this.#players, hidden: this.#hidden, days: [] };
    return { head, columns: this.pages.map((page) => new Uint8Array(page.buffer)) };
  }
}
