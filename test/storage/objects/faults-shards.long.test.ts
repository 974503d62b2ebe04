import { ACTIONS } from './fault-actions.ts';
import { defineFaultTests, FAULTS } from './fault-cases.ts';

defineFaultTests(Object.keys(ACTIONS), FAULTS, 3);
