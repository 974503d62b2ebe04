/** Whether passwords log in (`PASSWORDS`). */
import { type Problem, problem } from '../../shared/json/problem.ts';
import { settingsOf } from '../../shared/settings/settings.ts';

const PASSWORDS_OFF = problem(403, 'passwords_off', 'Passwords do not log in here.');

/** @returns the problem of every route that takes or sets a password, if the operator turned passwords off. */
export const refusePasswords = (env: Env): Problem | null =>
  settingsOf(env).PASSWORDS === 'on' ? null : PASSWORDS_OFF;
