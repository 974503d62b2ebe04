import { defineFaultTests } from './fault-cases.ts';
import { defineEventFaultTests } from './fault-events.ts';
import { defineLostAnswerTests } from './lost-answers.ts';

// Some actions and faults. `faults.long.test.ts` runs every action under every fault.
defineFaultTests(['a small put', 'a streamed put', 'a completion'], ['after', 'late']);
defineEventFaultTests(['before', 'after']);
defineLostAnswerTests();
