/**
 * What the sign-in with a provider needs of its libraries: `oauth4webapi` for the code flow, `jose` for tokens that come without one.
 * Only `provider.ts` imports this file, with the first request that needs it, so that the start of the Worker does not load it.
 */
export { createRemoteJWKSet } from 'jose/jwks/remote';
export { jwtVerify } from 'jose/jwt/verify';
export {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  ClientSecretBasic,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  clockSkew,
  clockTolerance,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  getValidatedIdTokenClaims,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processRefreshTokenResponse,
  processUserInfoResponse,
  refreshTokenGrantRequest,
  userInfoRequest,
  validateAuthResponse,
} from 'oauth4webapi';
