/** The documentation of one `code` of a problem. */
export interface ProblemCodeEntry {
  /** The HTTP statuses that problems with this code may have. */
  readonly statuses: readonly number[];
  readonly meaning: string;
  /** Advice to clients: how to react to the problem. */
  readonly action: string;
}

export type ProblemCodeTable = Readonly<Record<string, ProblemCodeEntry>>;
