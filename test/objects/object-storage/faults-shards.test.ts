import { defineFaultTests } from './fault-cases.ts';

// Every action under every fault is `faults-shards.long.test.ts`.
defineFaultTests(['a put', 'a copy'], ['after'], 3);
