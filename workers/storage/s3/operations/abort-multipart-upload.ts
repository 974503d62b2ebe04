import { s3Failure } from '../../domain/failure.ts';
import { readUploadId } from '../documents/upload-elements.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';

export const abortMultipartUpload: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'AbortMultipartUpload', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run({ request, bucket, engine }) {
    const initiated = request.headers.get('x-amz-if-match-initiated-time');
    if (initiated !== null) {
      const upload = await engine.getUpload(bucket, request.key, readUploadId(request));
      if (!upload.ok) return toFailure(upload);
      const seconds = (timeMs: number) => Math.floor(timeMs / 1000);
      if (seconds(upload.value.initiatedAt) !== seconds(Date.parse(initiated))) {
        const details = { Condition: 'x-amz-if-match-initiated-time' };
        return { ok: false, error: s3Failure('PreconditionFailed', undefined, { details }), proof: upload.proof };
      }
    }
    const aborted = await engine.abortUpload(bucket, request.key, readUploadId(request));
    return aborted.ok ? { ...aborted, value: emptyAnswer(204) } : toFailure(aborted);
  },
};
