import { err } from '../../../shared/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

/** Object Lock is not implemented, so every read of an object's lock gets S3's answer for a bucket without it. */
const readLock = (action: string): Operation => ({
  needs: 'version',
  permission: onObject(action, action, null),
  async run(context) {
    const { request, bucket, found } = context;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    return version.ok ? err(s3Failure('InvalidRequest', 'Bucket is missing Object Lock Configuration')) : version;
  },
});

export const getObjectLegalHold = readLock('GetObjectLegalHold');
export const getObjectRetention = readLock('GetObjectRetention');
