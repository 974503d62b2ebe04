/**
 * Identity: the only place that checks credentials. Products use it only through this file. A revoked credential stops working with
 * the next request, except that the JSON APIs may accept a scoped token other than `admin` for ten more seconds (`revocations.ts`).
 *
 * By design: root and operators are neither users nor S3 identities.
 */

export { type CredentialRef, findActingUser, findByCredential, toCredentialRef } from './callers/acting-user.ts';
export { authenticateBearer, authenticateMailRequest, sessionCookieName } from './callers/authenticate.ts';
export { withClientOfBridge } from './callers/bridge.ts';
export { readClient, UNKNOWN_CLIENT } from './callers/client.ts';
export { recordUse } from './callers/credential-use.ts';
export {
  authorizeFirst,
  authorizeWithRead,
  findOperator,
  requireAgent,
  requireMailClient,
  requireMailUser,
  requireMailUserStill,
  requireOperator,
  requireOperatorOrScope,
  requireScope,
  toActor,
} from './callers/guards.ts';
export {
  ACCESS_AGE_MS,
  approveConnection,
  type IssuedTokens,
  redeemCode,
  refreshConnection,
} from './connections/connections.ts';
export {
  DEFAULT_SCOPES,
  openConnectionRequest,
  readConnectionRequest,
  type Service,
  toAnswerUrl,
} from './connections/requests.ts';
export { mayReadMail } from './domain/operator-roles.ts';
export {
  type ConditionContext,
  evaluatePolicies,
  findConditionKeyFault,
  isPublicPolicy,
  type Policy,
  parsePolicy,
} from './domain/policy.ts';
export { toNewAddress } from './domain/provider-claims.ts';
export type { S3AuthFailure } from './domain/s3-auth-failure.ts';
export { S3_SUBRESOURCES, type S3Subresource } from './domain/s3-subresources.ts';
export { readSessionPolicy } from './domain/session-policy.ts';
export { isSigV2Query } from './domain/sigv2.ts';
export { parseAmzDate } from './domain/sigv4-credentials.ts';
export { admitRegistration, type ChallengeSolution, createLoginCode } from './login/challenges.ts';
export { recordFailedLogin } from './login/failed-logins.ts';
export {
  admitAction,
  admitClient,
  admitGuess,
  forgiveGuesses,
  type Guesser,
  KNOWN_PLACE_AGE_MS,
} from './login/guesses.ts';
export { addPasskey, beginPasskey, beginPasskeyLogin, verifyPasskey } from './login/passkeys.ts';
export { createPasswordReset, ENDS_SINCE_MS, RESET_AGE_MS, resetPassword } from './login/password-reset.ts';
export { refusePasswords } from './login/password-setting.ts';
export {
  beginRecoveryAddress,
  confirmRecoveryAddress,
  findRecoveryEmail,
  listRecoveryEmails,
  readRecoveryAddress,
  removeRecoveryAddress,
} from './login/recovery-address.ts';
export {
  beginSecondFactor,
  checkSecondFactor,
  confirmSecondFactor,
  removeSecondFactor,
  replaceRecoveryCodes,
  type SecondFactorError,
  totpSecrets,
} from './login/second-factor.ts';
export { operatorSecrets } from './operators/operators.ts';
export type { PolicyDocument, Principal, RootPrincipal, Scope, ServicePrincipal, UserPrincipal } from './principal.ts';
export { AGENT_SCOPES, type AgentScope, isOperator } from './principal.ts';
export {
  findUnrevoked,
  forgetProven,
  publishRevocations,
  type RevocationWitness,
  registerRevocationWitness,
  republishRevocations,
} from './revocations.ts';
export {
  authenticateS3,
  authenticateSts,
  type S3Caller,
  type S3Credentials,
  type SignatureVersion,
} from './s3/s3-authentication.ts';
export {
  createS3Credentials,
  type DatedS3Credentials,
  findS3User,
  findS3UsersByEmail,
  type S3User,
} from './s3/s3-credentials.ts';
export { authenticateS3Form } from './s3/s3-form-authentication.ts';
export type { PayloadMode } from './s3/s3-payload-mode.ts';
export { hashToken, homeOfSecret, mintKeptSecret, mintSecret } from './secrets/credentials.ts';
export type { SecretKeeper } from './secrets/master-key.ts';
export { hashPassword, verifyPassword } from './secrets/passwords.ts';
export { deriveSecret, type MasterKeys, openSecret, sealSecret } from './secrets/secrets.ts';
export { mintTemporaryKey, TEMPORARY_SECONDS_MAX, type TemporaryKey } from './secrets/temporary-keys.ts';
export { toOtpAuthUrl } from './secrets/totp.ts';
export { readAccessProof } from './sign-in/access.ts';
export { listSignIns, SIGN_IN_TAKEN, signInsSchema, toSignInJson } from './sign-in/binding-routes.ts';
export { refuseForeign, takeProofOf } from './sign-in/cookies.ts';
export type { Proof } from './sign-in/proof.ts';
export { bindSignIn, findSignedInUser, prepareUserOfProof, recordSignIn, toSignInId } from './sign-in/sign-ins.ts';
export { createLoginStore, insertUserWithoutPassword } from './store/login-store.ts';
export { createPasskeyStore, readPasswordRule } from './store/passkey-store.ts';
export {
  changePassword,
  type EndedThing,
  endReview,
  readReview,
  type SecurityReview,
} from './store/password-change-store.ts';
export { createRecoveryStore } from './store/recovery-store.ts';
export { raiseGeneration, raiseGenerationTo, readGeneration } from './store/revocation-store.ts';
export { endingCredentials, registerUserObligation, type UserObligation } from './users/obligations.ts';
export { findSuspension, SIGN_IN_AGAIN } from './users/suspensions.ts';
export {
  endTemporaryKeys,
  endTemporaryQuerySchema,
  makeTemporaryKey,
  temporaryKeyMembers,
  temporaryKeySchema,
} from './users/temporary-key-requests.ts';
export {
  type AccessKeyRow,
  createUserAccessKey,
  deleteUserAccessKey,
  listUserAccessKeys,
  rotateUserAccessKey,
} from './users/user-access-keys.ts';
export { eraseUser } from './users/user-erasure.ts';
export { createUserToken, deleteUserToken, listUserTokens } from './users/user-tokens.ts';
export { findUserById, forgetUser, inventUserName, isEmailElsewhere } from './users/users.ts';
