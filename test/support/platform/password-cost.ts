/** Replaces `workers/identity/secrets/password-cost.ts` in the tests' builds, so that a hash costs next to nothing. */
import type { PasswordCost } from '../../../workers/identity/secrets/password-cost.ts';

export const PASSWORD_COST: Readonly<PasswordCost> = { N: 16, r: 1, p: 1 };
