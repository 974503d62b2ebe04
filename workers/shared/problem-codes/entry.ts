/** One `code` of a problem. */
export interface ProblemCodeEntry {
  /** The statuses that the code may have. */
  readonly statuses: readonly number[];
  readonly meaning: string;
  /** What a client does about it. */
  readonly action: string;
}

export type ProblemCodeTable = Readonly<Record<string, ProblemCodeEntry>>;
