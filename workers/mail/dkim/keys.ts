/** DKIM keys. They are created here; the owner of the domain publishes them in DNS. */
import type { DkimAlgorithm } from './sign.ts';

export interface NewDkimKey {
  readonly algorithm: DkimAlgorithm;
  /** The private key: Base64 of PKCS #8. It is secret. */
  readonly privateKey: string;
  /** The public key, as the value of `p=` in the DNS record. */
  readonly publicKey: string;
}

export async function generateDkimKey(algorithm: DkimAlgorithm): Promise<NewDkimKey> {
  const isRsa = algorithm === 'rsa-sha256';
  const parameters = isRsa
    ? {
        name: 'RSASSA-PKCS1-v1_5',
        hash: 'SHA-256',
        modulusLength: 2048,
        publicExponent: new Uint8Array([1, 0, 1]),
      }
    : { name: 'Ed25519' };
  const pair = (await crypto.subtle.generateKey(parameters, true, ['sign', 'verify'])) as CryptoKeyPair;
  const privateKey = (await crypto.subtle.exportKey('pkcs8', pair.privateKey)) as ArrayBuffer;
  // RSA keys are published as SubjectPublicKeyInfo, Ed25519 keys as their 32 raw bytes (RFC 8463 §4).
  const publicKey = (await crypto.subtle.exportKey(isRsa ? 'spki' : 'raw', pair.publicKey)) as ArrayBuffer;
  return {
    algorithm,
    privateKey: Buffer.from(privateKey).toString('base64'),
    publicKey: Buffer.from(publicKey).toString('base64'),
  };
}

/** @returns the text of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1). */
export const toDkimRecord = (key: { algorithm: DkimAlgorithm; publicKey: string }): string =>
  `v=DKIM1; k=${key.algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${key.publicKey}`;
