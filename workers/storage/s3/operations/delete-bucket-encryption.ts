import { err, ok } from '../../../shared/pure/result.ts';
import { ENCRYPTION_DELETED } from '../documents/encryption-document.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

/** Removes only the encryption configuration; objects stay encrypted. */
export const deleteBucketEncryption: Operation = {
  needs: 'bucket',
  permission: onBucket('PutEncryptionConfiguration'),
  async run({ bucket, engine }) {
    const removed = await engine.setConfiguration(bucket, 'encryption', ENCRYPTION_DELETED);
    return removed.ok ? ok(emptyAnswer(204)) : err(toS3Error(removed.error));
  },
};
