/**
 * The encryption configuration of a bucket: SSE-S3 with AES-256 only (PutBucketEncryption, GetBucketEncryption).
 *
 * By design: a bucket has an encryption configuration from its creation. Deleting it removes the document, but not the encryption.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childOf, childrenOf, parseXml, textOf, textsOf } from '../protocol/xml-parser.ts';

export interface BucketEncryption {
  /**
   * Whether the client enabled a bucket key. At AWS that has an effect only with KMS keys. Here it is stored and returned but not
   * used.
   */
  readonly isBucketKeyEnabled: boolean;
  /** Blocked types of encryption: `SSE-C` refuses uploads with customer-provided keys, `NONE` blocks nothing. */
  readonly blockedTypes: readonly string[];
}

const DEFAULT: BucketEncryption = { isBucketKeyEnabled: false, blockedTypes: [] };

/** Text that is stored in place of an encryption configuration that was deleted. */
export const ENCRYPTION_DELETED = 'null';

/**
 * Reads the stored encryption configuration.
 * @param text null if the configuration was never set.
 * @returns null if it was deleted.
 */
export const readEncryption = (text: string | null): BucketEncryption | null =>
  text === null ? DEFAULT : (JSON.parse(text) as BucketEncryption | null);

export const toEncryptionElements = ({ isBucketKeyEnabled, blockedTypes }: BucketEncryption): XmlNode =>
  element('Rule', [
    element('ApplyServerSideEncryptionByDefault', element('SSEAlgorithm', 'AES256')),
    element('BucketKeyEnabled', isBucketKeyEnabled),
    ...(blockedTypes.length === 0
      ? []
      : [
          element(
            'BlockedEncryptionTypes',
            blockedTypes.map((type) => element('EncryptionType', type)),
          ),
        ]),
  ]);

export function parseEncryption(text: string): Result<BucketEncryption, S3Failure> {
  const malformed = err(s3Failure('MalformedXML'));
  const root = parseXml(text, 'ServerSideEncryptionConfiguration');
  if (!root.ok) return root;
  const [rule, ...others] = childrenOf(root.value, 'Rule');
  if (!rule || others.length > 0) return malformed;
  const blocked = childOf(rule, 'BlockedEncryptionTypes');
  const blockedTypes = blocked ? textsOf(blocked, 'EncryptionType').map((type) => type.trim()) : [];
  if (blockedTypes.some((type) => type !== 'SSE-C' && type !== 'NONE')) return malformed;
  const bucketKey = textOf(rule, 'BucketKeyEnabled')?.trim() ?? 'false';
  if (bucketKey !== 'true' && bucketKey !== 'false') return malformed;
  const byDefault = childOf(rule, 'ApplyServerSideEncryptionByDefault');
  if (byDefault === null && blocked === null) return malformed;
  const algorithm = byDefault === null ? 'AES256' : (textOf(byDefault, 'SSEAlgorithm')?.trim() ?? '');
  if (/^aws:kms(:dsse)?$/.test(algorithm)) {
    return err(s3Failure('NotImplemented', `The default encryption "${algorithm}" of a bucket is not implemented.`));
  }
  if (algorithm !== 'AES256') return malformed;
  const keyId = byDefault && textOf(byDefault, 'KMSMasterKeyID');
  if (keyId) {
    const message = 'a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse';
    return err(invalidArgument('KMSMasterKeyID', keyId, message));
  }
  return ok({ isBucketKeyEnabled: bucketKey === 'true', blockedTypes });
}
