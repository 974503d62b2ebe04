/** Rows of players, as a shard stores them and a copy has them. */

export interface PlayerRow {
  readonly slot: number;
  readonly userId: string;
  readonly userName: string | null;
}

/** A player's new score, as a commit stores it. The score is −1 if the player is not listed any more. */
export interface Move {
  readonly slot: number;
  readonly score: number;
  readonly reached: number;
}

/** Data of the score of a player that counts, as JSON text. */
export interface EntryDataRow {
  readonly slot: number;
  readonly data: string;
}

/** Time of the last post of a player, in milliseconds since 1970. */
export interface LastPostRow {
  readonly slot: number;
  readonly at: number;
}

/** Points that a player got in a day. */
export interface DayPointsRow {
  readonly slot: number;
  /** Days of UTC since 1970. */
  readonly day: number;
  readonly points: number;
}
