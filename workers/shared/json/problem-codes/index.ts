/**
 * Every `code` of a problem: its statuses, its meaning and advice to clients. `docs/errors.md` is generated from these tables;
 * `problem()` accepts no other code. The Worker uses only the types, so the texts are not deployed.
 */
import { SHARED_CODES } from './every-route.ts';
import { IDENTITY_CODES } from './identity.ts';
import { LEADERBOARD_CODES } from './leaderboard.ts';
import { MAIL_CODES } from './mail.ts';
import { STORAGE_CODES } from './storage.ts';

/** The codes by part of the service, in the order of the page. */
export const PROBLEM_CODES_BY_PART = {
  'Every route': SHARED_CODES,
  'Identity, login and account': IDENTITY_CODES,
  'Operating storage': STORAGE_CODES,
  Leaderboard: LEADERBOARD_CODES,
  Mail: MAIL_CODES,
} as const;

type ProblemCodes = typeof SHARED_CODES &
  typeof IDENTITY_CODES &
  typeof STORAGE_CODES &
  typeof LEADERBOARD_CODES &
  typeof MAIL_CODES;

export type ProblemCode = keyof ProblemCodes;

/** The HTTP statuses that problems with a code may have. */
export type StatusOf<C extends ProblemCode> = ProblemCodes[C]['statuses'][number];
