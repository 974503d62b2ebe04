import { defineFaultTests } from './fault-cases.ts';

// Some actions and faults. `faults-shards.long.test.ts` runs every action under every fault.
defineFaultTests(['a put', 'a copy', 'a put that needs the shares of other shards'], ['after'], 3);
