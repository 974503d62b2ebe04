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

/** Points that a player got in a day. */
export interface DayPointsRow {
  readonly slot: number;
  /** Days of UTC since 1970. */
  readonly day: number;
  readonly points: number;
}
