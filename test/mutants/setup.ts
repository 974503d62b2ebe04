/** Limits property tests to fewer examples, which are the same for each mutant. */
import fc from 'fast-check';

fc.configureGlobal({ numRuns: 40, seed: 20_260_101 });
