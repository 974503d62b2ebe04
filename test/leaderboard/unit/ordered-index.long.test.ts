/** Runs the cases of `ordered-index.test.ts` with twenty times the steps: twenty million in all. */
import './ordered-index.test.ts';
