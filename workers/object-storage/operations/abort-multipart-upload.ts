import { err, ok } from '../../shared/result.ts';
import { emptyAnswer } from '../answer.ts';
import { toS3Error } from '../engine-failures.ts';
import { readUploadId } from '../upload-elements.ts';
import type { Operation } from './operation.ts';

export const abortMultipartUpload: Operation = {
  needs: 'bucket',
  permission: () => ({ action: 'AbortMultipartUpload', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run({ request, bucket, engine }) {
    const aborted = await engine.abortUpload(bucket, request.key, readUploadId(request));
    return aborted.ok ? ok(emptyAnswer(204)) : err(toS3Error(aborted.error));
  },
};
