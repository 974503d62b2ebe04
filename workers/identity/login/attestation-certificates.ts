/**
 * Stands in for `@peculiar/x509` in `@simplewebauthn/server`, which verifies certificates of authenticators with it. The Worker refuses
 * passkeys with certificates (`passkeys.ts`) before the library could verify them.
 */

class LeftOut {
  constructor() {
    throw new Error('Certificates of authenticators are not verified.');
  }
}

export {
  LeftOut as AuthorityKeyIdentifierExtension,
  LeftOut as CRLDistributionPointsExtension,
  LeftOut as SubjectKeyIdentifierExtension,
  LeftOut as X509Certificate,
  LeftOut as X509ChainBuilder,
  LeftOut as X509Crl,
};
