import { defineFaultTests } from './fault-cases.ts';

// Every action under every fault is `faults.long.test.ts`.
defineFaultTests(
  ['a small put', 'a streamed put', 'an overwrite of a large one', 'a delete with a marker', 'a completion', 'a read'],
  ['after', 'late', 'half'],
);
