import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { readDocument } from '../bodies/document-body.ts';
import { parseObjectLockConfiguration } from '../documents/object-lock-documents.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const putObjectLockConfiguration: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketObjectLockConfiguration'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const configuration = parseObjectLockConfiguration(text.value);
    if (!configuration.ok) return configuration;
    if (bucket.versioning !== 'enabled') {
      return err(
        s3Failure(
          'InvalidBucketState',
          "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration",
        ),
      );
    }
    const set = await engine.setObjectLock(bucket, JSON.stringify(configuration.value));
    return set.ok ? ok(emptyAnswer(200)) : err(toS3Error(set.error));
  },
};
