/**
 * Plays: what a page holds between the begin of a game and its result. A play is a sealed text with all that the server has to know, so a
 * play that never has a result costs no row. Its id is the event id of the result: the shard of the player counts it once.
 */
import { createHash } from 'node:crypto';
import { openSecret, sealSecret } from '../../identity/index.ts';
import type { Board } from '../boards/boards.ts';
import { PLAY_MS_MAX } from '../domain/session-rules.ts';

export interface Play {
  readonly id: string;
  readonly userId: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Whether the result needs the secret of the player. Plays that a game server began need none. */
  readonly hasSecret: boolean;
}

/** Ids of players whom a page has invented. No other route makes them, so no page can take the id of another player. */
const INVENTED = 'anon.';
/** 22 characters of base64url: 132 bits of a hash. */
const ID_LENGTH = 22;
const TIME_LENGTH = 9;

/** The id of an invented player: the hash of his secret, which nobody can turn around. So no table of secrets is needed. */
export const inventedId = (secret: string): string =>
  INVENTED + createHash('sha256').update(`player ${secret}`).digest('base64url').slice(0, ID_LENGTH);

const contextOf = ({ ref }: Board): string => `play:${ref}`;

/** @returns the play, and the text that the page sends with its result */
export function beginPlay(env: Env, board: Board, { userId, startedAt, hasSecret }: Omit<Play, 'id'>) {
  // Ids begin with the time, so that a list of results is in the order of their plays.
  const time = startedAt.toString(36).padStart(TIME_LENGTH, '0');
  const play: Play = { id: `${time}-${crypto.randomUUID()}`, userId, startedAt, hasSecret };
  return { play, text: sealSecret(JSON.stringify(play), contextOf(board), env) };
}

/**
 * Opens the text of a play.
 * @param secret of the player; undefined if the page sent none
 * @returns null if it was altered, is over, or belongs to another board, result or player
 */
export function openPlay(
  env: Env,
  board: Board,
  { id, text, secret }: { readonly id: string; readonly text: string; readonly secret: string | undefined },
  now: number,
): Play | null {
  const opened = openSecret(text, contextOf(board), env);
  if (!opened.ok) return null;
  const play: Play = JSON.parse(opened.value);
  const isOfPlayer = !play.hasSecret || (secret !== undefined && inventedId(secret) === play.userId);
  return play.id === id && isOfPlayer && now < play.startedAt + PLAY_MS_MAX ? play : null;
}
