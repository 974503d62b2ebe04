/** Codes of identity, logins and accounts. */
import type { ProblemCodeTable } from './entry.ts';

export const IDENTITY_CODES = {
  invalid_policy: {
    statuses: [400],
    meaning: 'The policy document cannot be evaluated.',
    action: 'Correct what `errors` lists.',
  },
  second_factor_required: {
    statuses: [401],
    meaning: 'The password is right, and the account has a second factor.',
    action: 'Log in again with `totp` or `recovery_code`.',
  },
  wrong_login: {
    statuses: [401],
    meaning: 'The address is unknown or the password is wrong; the answer does not tell which.',
    action: 'Check both.',
  },
  wrong_second_factor: {
    statuses: [400, 401],
    meaning: 'The code is wrong or was used before.',
    action: 'Wait for the next code, and check the clock of the device.',
  },
  invite_required: {
    statuses: [403],
    meaning: 'Registration needs an invitation that was not used.',
    action: 'Ask the operator for an invitation.',
  },
  registration_closed: {
    statuses: [403],
    meaning: 'Only the operator creates accounts and addresses here.',
    action: 'Ask the operator.',
  },
  address_reserved: {
    statuses: [403],
    meaning: 'The local part, such as `postmaster`, belongs to the operator.',
    action: 'Choose another address.',
  },
  session_only: {
    statuses: [403],
    meaning: 'The route takes a session, not an app token.',
    action: 'Log in, and use the token of the login.',
  },
  wrong_password: {
    statuses: [403],
    meaning: 'The current password in the request is wrong.',
    action: 'Send the current password.',
  },
  no_such_access_key: { statuses: [404], meaning: 'No access key has this id.', action: 'Check the id.' },
  no_such_policy: {
    statuses: [404],
    meaning: 'The user has no policy of this name.',
    action: 'List the policies of the user.',
  },
  no_such_token: { statuses: [404], meaning: 'No token has this id.', action: 'Check the id.' },
  no_such_user: { statuses: [404], meaning: 'No user has this id.', action: 'Check the id.' },
  access_key_exists: {
    statuses: [409],
    meaning: 'An imported access key has an id that is in use.',
    action: 'Choose another id, or leave it out.',
  },
  address_taken: {
    statuses: [409],
    meaning: 'The address was issued before. Addresses are never issued twice.',
    action: 'Choose another address.',
  },
  email_taken: {
    statuses: [409],
    meaning: 'Another user or mail account has this email.',
    action: 'Choose another email.',
  },
  primary_address: {
    statuses: [409],
    meaning: 'The address of the login cannot be deleted.',
    action: 'Delete another address, or the account.',
  },
  totp_already_on: {
    statuses: [409],
    meaning: 'The account has a second factor.',
    action: 'Turn it off first to set up another one.',
  },
  totp_not_begun: {
    statuses: [409],
    meaning: 'No second factor waits for its first code.',
    action: 'Call `POST /v1/me/totp` first.',
  },
  user_in_use: {
    statuses: [409],
    meaning: 'The user still owns something, such as a bucket.',
    action: 'Delete what `detail` names first.',
  },
  user_name_taken: {
    statuses: [409],
    meaning: 'Another user has this `user_name`.',
    action: 'Choose another one, or leave it out.',
  },
  policy_too_large: {
    statuses: [413],
    meaning: 'The policy document exceeds its limit.',
    action: 'Shorten it, or split it into several policies.',
  },
  too_many_guesses: {
    statuses: [429],
    meaning: 'Too many passwords or codes were tried.',
    action: 'Wait for `Retry-After`.',
  },
  too_many_logins: {
    statuses: [503],
    meaning: 'Too many logins run at once.',
    action: 'Retry after `Retry-After`.',
  },
} as const satisfies ProblemCodeTable;
