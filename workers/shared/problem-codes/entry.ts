/** One `code` of a problem. */
export interface ProblemCodeEntry {
  /** The statuses that the code may have. */
  readonly statuses: readonly number[];
  readonly meaning: string;
  /** Advice to clients. */
  readonly action: string;
}

export type ProblemCodeTable = Readonly<Record<string, ProblemCodeEntry>>;
