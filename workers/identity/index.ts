/**
 * Identity: the only place that checks credentials. Products use it only through this file. A revoked credential stops
 * working with the next request, because nothing is cached.
 *
 * By design: root and operators are neither users nor S3 identities.
 */

export { authenticateBearer, authenticateMailRequest, sessionCookieName } from './authenticate.ts';
export { admitRegistration, type ChallengeSolution, createLoginCode } from './challenges.ts';
export { readClient, UNKNOWN_CLIENT } from './client.ts';
export { recordUse } from './credential-use.ts';
export {
  type ConditionContext,
  evaluatePolicies,
  findConditionKeyFault,
  isPublicPolicy,
  type Policy,
  parsePolicy,
} from './domain/policy.ts';
export type { S3AuthFailure } from './domain/s3-auth-failure.ts';
export { S3_SUBRESOURCES, type S3Subresource } from './domain/s3-subresources.ts';
export { isSigV2Query } from './domain/sigv2.ts';
export { parseAmzDate } from './domain/sigv4-credentials.ts';
export { authorizeFirst, requireMailUser, requireOperator, requireScope } from './guards.ts';
export { createLoginStore } from './login-store.ts';
export type { SecretKeeper } from './master-key.ts';
export { operatorSecrets } from './operators.ts';
export { createPasskeyStore } from './passkey-store.ts';
export { addPasskey, beginPasskey, beginPasskeyLogin, verifyPasskey } from './passkeys.ts';
export { createPasswordReset, RESET_AGE_MS, resetPassword } from './password-reset.ts';
export { hashPassword, verifyPassword } from './passwords.ts';
export type { PolicyDocument, Principal, RootPrincipal, Scope, ServicePrincipal, UserPrincipal } from './principal.ts';
export { isOperator } from './principal.ts';
export {
  beginRecoveryAddress,
  confirmRecoveryAddress,
  findRecoveryEmail,
  readRecoveryAddress,
  removeRecoveryAddress,
} from './recovery-address.ts';
export { createRecoveryStore } from './recovery-store.ts';
export {
  authenticateS3,
  type S3Caller,
  type S3Credentials,
  type SignatureVersion,
} from './s3-authentication.ts';
export { createS3Credentials, findS3User, findS3UsersByEmail, type S3User } from './s3-credentials.ts';
export { authenticateS3Form } from './s3-form-authentication.ts';
export type { PayloadMode } from './s3-payload-mode.ts';
export {
  beginSecondFactor,
  checkSecondFactor,
  confirmSecondFactor,
  removeSecondFactor,
  replaceRecoveryCodes,
  type SecondFactorError,
  totpSecrets,
} from './second-factor.ts';
export { openSecret, sealSecret } from './secrets.ts';
export {
  admitAction,
  admitClient,
  admitGuess,
  createSession,
  forgiveGuesses,
  type Guesser,
  KNOWN_PLACE_AGE_MS,
  SESSION_AGE_MAX_MS,
} from './sessions.ts';
export { toOtpAuthUrl } from './totp.ts';
export {
  type AccessKeyRow,
  createUserAccessKey,
  deleteUserAccessKey,
  listUserAccessKeys,
  rotateUserAccessKey,
} from './user-access-keys.ts';
export { eraseUser, registerUserObligation, type UserObligation } from './user-erasure.ts';
export { createUserToken, deleteUserToken, listUserTokens } from './user-tokens.ts';
export { findSuspended, findUserById, forgetUser, inventUserName } from './users.ts';
