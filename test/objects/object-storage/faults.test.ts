import { defineFaultTests } from './fault-cases.ts';
import { defineLostAnswerTests } from './lost-answers.ts';

// Every action under every fault is `faults.long.test.ts`.
defineFaultTests(['a small put', 'a streamed put', 'a completion'], ['after', 'late']);
defineLostAnswerTests();
