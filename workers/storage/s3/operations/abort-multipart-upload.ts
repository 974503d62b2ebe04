import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { readUploadId } from '../documents/upload-elements.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';

export const abortMultipartUpload: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'AbortMultipartUpload', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run({ request, bucket, engine }) {
    const initiated = request.headers.get('x-amz-if-match-initiated-time');
    if (initiated !== null) {
      const upload = await engine.getUpload(bucket, request.key, readUploadId(request));
      if (!upload.ok) return err(toS3Error(upload.error));
      const seconds = (timeMs: number) => Math.floor(timeMs / 1000);
      if (seconds(upload.value.initiatedAt) !== seconds(Date.parse(initiated))) {
        return err(
          s3Failure('PreconditionFailed', undefined, { details: { Condition: 'x-amz-if-match-initiated-time' } }),
        );
      }
    }
    const aborted = await engine.abortUpload(bucket, request.key, readUploadId(request));
    return aborted.ok ? ok(emptyAnswer(204)) : err(toS3Error(aborted.error));
  },
};
