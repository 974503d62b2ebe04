import { ACTIONS, defineFaultTests, FAULTS } from './fault-cases.ts';

defineFaultTests(Object.keys(ACTIONS), FAULTS, 3);
