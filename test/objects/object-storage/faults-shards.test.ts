import { defineFaultTests } from './fault-cases.ts';

// `faults-shards.long.test.ts` runs every action under every fault.
defineFaultTests(['a put', 'a copy'], ['after'], 3);
