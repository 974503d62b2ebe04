/**
 * Boards that a first post makes, such as one for each level of a game. Another board says with which names they begin (`makes`), and gives
 * them its rules. A board that is made has one shard, so a thousand of them that nobody uses cost their rows only.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { type BoardRow, createBoardStore } from '../records/board-store.ts';
import { createDeletedBoardStore } from '../records/deleted-board-store.ts';
import { admitBoard } from './board-limit.ts';
import { forgetBoard } from './boards.ts';

const TITLE_CHARACTERS_MAX = 64;

/** The row of a board with the rules of the one that makes it. Its logo, webhook and further boards are its own. */
export function toMadeRow(maker: BoardRow, board: string, id: string, now: number): BoardRow {
  const rest = board.slice(maker.makes?.length ?? 0);
  return {
    ...maker,
    ...{ board, id, shards: 1, makes: null, resets: null, logo: null, createdAt: now, deletedAt: null },
    title: [...`${maker.title} ${rest}`].slice(0, TITLE_CHARACTERS_MAX).join(''),
    pointsPerDayBefore: maker.pointsPerDayMax,
    rulesFrom: maker.pointsPerDayMax === null ? 0 : now,
  };
}

/** Why no board is made. */
export type NotMade =
  | { readonly kind: 'board_being_deleted' }
  | { readonly kind: 'board_limit_reached'; readonly boardsMax: number };

/**
 * Makes a board for its first post. If two posts come at once, one of them makes it.
 * @returns null if no board makes boards with such a name
 */
export async function makeBoard(env: Env, name: string, now: number): Promise<Result<BoardRow, NotMade> | null> {
  const store = createBoardStore(env.DIRECTORY);
  const maker = await store.findMaker(name);
  if (maker === null) return null;
  const deleted = createDeletedBoardStore(env.DIRECTORY);
  if (await deleted.isOneOpen(name, now)) return err({ kind: 'board_being_deleted' });
  const admitted = await admitBoard(env, now, false);
  if (!admitted.ok) return admitted;
  const row = toMadeRow(maker, name, crypto.randomUUID().slice(0, 8), now);
  await deleted.adopt(name);
  await store.add(row);
  forgetBoard(name);
  return ok(row);
}
