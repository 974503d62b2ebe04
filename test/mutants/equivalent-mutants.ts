/** Mutants that no test can kill, because they do not change what the code does. `npm run test:mutants` compares survivors with this list. */

export interface EquivalentMutant {
  readonly file: string;
  /** Part of the line where the mutant begins. */
  readonly line: string;
  /** The source that is replaced, on one line. */
  readonly from: string;
  /** The replacements that change nothing. */
  readonly to: readonly string[];
  readonly reason: string;
}

export const EQUIVALENT_MUTANTS: readonly EquivalentMutant[] = [];
