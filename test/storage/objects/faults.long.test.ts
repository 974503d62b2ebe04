import { ACTIONS } from './fault-actions.ts';
import { defineFaultTests, FAULTS } from './fault-cases.ts';
import { defineEventFaultTests } from './fault-events.ts';

defineFaultTests(Object.keys(ACTIONS), FAULTS);
defineEventFaultTests(FAULTS);
