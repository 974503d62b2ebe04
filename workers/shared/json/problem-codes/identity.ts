/** Problem codes of identity, logins and accounts. */
import type { ProblemCodeTable } from './entry.ts';

export const IDENTITY_CODES = {
  invalid_policy: {
    statuses: [400],
    meaning: 'The policy document cannot be evaluated.',
    action: 'Correct what `errors` lists.',
  },
  invalid_reset_token: {
    statuses: [400],
    meaning: 'The link for a new password is wrong, expired, used or replaced by a newer one.',
    action: 'Request a new link.',
  },
  invalid_passkey: {
    statuses: [400],
    meaning: 'The answer of the device does not fit the options, or they were used or expired.',
    action: 'Request new options and start again.',
  },
  wrong_passkey: {
    statuses: [401, 403],
    meaning:
      'The passkey is unknown or not of this account, its signature or counter is wrong, or the options expired.',
    action: 'Request new options and try again.',
  },
  second_factor_required: {
    statuses: [401, 403],
    meaning: 'The password is right, and the account has a second factor.',
    action: 'Repeat the request with `totp`, `recovery_code` or `passkey`.',
  },
  no_recovery_address: {
    statuses: [409],
    meaning: 'The account has no confirmed recovery address, to which a link could be mailed.',
    action: 'Ask an operator with the role `admin` for a link.',
  },
  wrong_login: {
    statuses: [401],
    meaning: 'The address is unknown or the password is wrong; the answer does not tell which.',
    action: 'Check both.',
  },
  wrong_second_factor: {
    statuses: [400, 401, 403],
    meaning: 'The code is wrong or was used before.',
    action: 'Wait for the next code, and check the clock of the device.',
  },
  connection_refused: {
    statuses: [400],
    meaning:
      'The request of an OAuth client cannot be answered: its metadata document or its redirect_uri is not valid, or the page was open too long.',
    action: 'Start again in the program. `detail` says what its maker has to mend.',
  },
  sign_in_failed: {
    statuses: [400, 401],
    meaning:
      'The provider refused, or its answer is not valid: wrong issuer, audience, nonce, key or time, or another browser began the sign-in.',
    action: 'Start the sign-in again.',
  },
  sign_in_expired: {
    statuses: [401],
    meaning: 'The sign-in was not finished in time, or was finished before.',
    action: 'Start the sign-in again.',
  },
  sign_in_unknown: {
    statuses: [403],
    meaning: 'No account belongs to this account of the provider, and none may be made for it.',
    action: 'Ask the operator, or log in otherwise and connect it in the settings.',
  },
  sign_in_taken: {
    statuses: [409],
    meaning: 'This account of the provider belongs to an account, or the account has another one of this provider.',
    action: 'Disconnect the other one first.',
  },
  sign_in_again: {
    statuses: [403],
    meaning: 'The provider did not confirm the account any more, so everything of it stopped.',
    action: 'Sign in with the account of the provider.',
  },
  no_role: {
    statuses: [403],
    meaning: 'The provider names no role of an operator, or no right on storage, for this account.',
    action: 'Ask the administrator of the provider.',
  },
  passwords_off: {
    statuses: [403],
    meaning: 'Passwords do not log in here (`PASSWORDS`).',
    action: 'Sign in with the account of the provider, or with a passkey.',
  },
  oidc_off: {
    statuses: [404],
    meaning: 'No such provider is configured (`OIDC_ISSUER`, `ACCESS_ISSUER`).',
    action: 'Log in otherwise.',
  },
  provider_unavailable: {
    statuses: [503],
    meaning: 'The provider does not answer, or its answer is not valid.',
    action: 'Retry later.',
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
  keys_assigned: {
    statuses: [403],
    meaning: 'Only the operator creates access keys here (`OWN_ACCESS_KEYS`).',
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
  confirmation_required: {
    statuses: [403],
    meaning: 'The action is sensitive, and the session was not confirmed in the last ten minutes.',
    action: 'Call `POST /v1/auth/confirm`, or add `password` (and `totp`) or `passkey` to the request.',
  },
  challenge_required: {
    statuses: [403],
    meaning: 'Too many wrong passwords for this address from elsewhere, or a registration that needs a challenge.',
    action:
      'Solve one of `challenges`: `turnstile` gives a token, `proof_of_work` is computed (`proof`), `recovery_code_mail` is a code by `POST /v1/auth/login-code`. Or wait for `Retry-After`.',
  },
  challenge_failed: {
    statuses: [403],
    meaning: 'The challenge was not solved: the token or code is wrong, expired or used.',
    action: 'Solve one of `challenges` again.',
  },
  wrong_password: {
    statuses: [403],
    meaning: 'The current password in the request is wrong.',
    action: 'Send the current password.',
  },
  account_suspended: {
    statuses: [403],
    meaning: 'The password is right, and the operator suspended the account.',
    action: 'Ask the operator.',
  },
  role_not_allowed: {
    statuses: [403],
    meaning: 'The role of the operator does not allow this.',
    action: 'Ask an operator with the role `admin`, or root.',
  },
  no_such_operator: { statuses: [404], meaning: 'No operator has this id.', action: 'List the operators.' },
  login_taken: {
    statuses: [409],
    meaning: 'Another operator has this login.',
    action: 'Choose another one.',
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
  last_way_in: {
    statuses: [409],
    meaning: 'This passkey is the only way to log in, so it cannot be removed.',
    action: 'Add another passkey, or allow logging in with the password alone, first.',
  },
  no_passkey: {
    statuses: [409],
    meaning: 'This setting needs both a passkey and a password.',
    action: 'Add a passkey first.',
  },
  passkey_exists: {
    statuses: [409],
    meaning: 'The passkey is registered already.',
    action: 'Use it, or add another one.',
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
    meaning: 'Too many passwords or codes were tried, or too many links or codes requested.',
    action: 'Wait for `Retry-After`.',
  },
  challenge_unavailable: {
    statuses: [503],
    meaning: 'The service that verifies challenges did not answer.',
    action: 'Retry after `Retry-After`.',
  },
  revocation_pending: {
    statuses: [503],
    meaning: 'The change is stored, but a database that enforces it did not answer. It is enforced within two minutes.',
    action: 'Repeat the request, or read the state and wait.',
  },
  too_many_logins: {
    statuses: [503],
    meaning: 'Too many logins run at once.',
    action: 'Retry after `Retry-After`.',
  },
} as const satisfies ProblemCodeTable;
