/** Common parts of the declarations of routes: those for everyone, and those for operators. */
import { authorizeFirst, requireOperator } from '../../identity/index.ts';

export const PUBLIC = { tags: ['leaderboard'], security: [] };
export const OPERATOR = {
  tags: ['leaderboard'],
  security: [{ bearer: [] }],
  middleware: authorizeFirst(requireOperator),
};
