/** Refuses headers that request unsupported features, so that they are never silently ignored. */
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';

type Readable = { get(name: string): string | null };

/** Refuses unsupported headers of operations that write an object or create an upload. */
export function refuseUnsupportedUpload(headers: Readable): S3Failure | null {
  const encryption = headers.get('x-amz-server-side-encryption');
  if (encryption !== null && encryption !== 'AES256') {
    if (!/^aws:kms(:dsse)?$|^aws:fsx$/.test(encryption)) {
      return invalidArgument(
        'x-amz-server-side-encryption',
        encryption,
        'The encryption method specified is not supported',
      );
    }
    return s3Failure('NotImplemented', 'Encryption with keys of a key management service is not implemented.');
  }
  const keyId = headers.get('x-amz-server-side-encryption-aws-kms-key-id');
  if (keyId !== null) {
    return invalidArgument(
      'x-amz-server-side-encryption-aws-kms-key-id',
      keyId,
      'Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : aws:kms',
    );
  }
  if (headers.get('x-amz-write-offset-bytes') !== null) {
    return s3Failure('NotImplemented', 'Appending to an object is not implemented.', {
      details: { Header: 'x-amz-write-offset-bytes' },
    });
  }
  return null;
}

/** Refuses headers that choose an encryption for a read, because a read cannot choose one (GetObject, "Encryption"). */
export function refuseEncryptionOfRead(headers: Readable): S3Failure | null {
  for (const name of ['x-amz-server-side-encryption', 'x-amz-server-side-encryption-aws-kms-key-id']) {
    const value = headers.get(name);
    if (value !== null) return invalidArgument(name, value, `${name} header is not supported for this operation.`);
  }
  return null;
}

/**
 * Refuses conditions that S3 supports on reads only. If they were ignored, the write could do what the client wanted to prevent.
 */
export function refuseConditions(headers: Readable, names: readonly string[]): S3Failure | null {
  const name = names.find((candidate) => headers.get(candidate) !== null);
  return name === undefined ? null : s3Failure('NotImplemented', undefined, { details: { Header: name } });
}
