/** Runs the same cases with twenty times the steps: twenty million in all. */
import './ordered-index.test.ts';
