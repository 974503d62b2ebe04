import { err, ok } from '../../../shared/pure/result.ts';
import { toVersionHeaders } from '../objects/object-headers.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

export const deleteObjectTagging: Operation = {
  needs: 'version',
  permission: onObject('DeleteObjectTagging', 'DeleteObjectVersionTagging', null),
  async run(context) {
    const { request, bucket, engine, found } = context;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const removed = await engine.setTags(version.value, null, bucket);
    return removed.ok ? ok(emptyAnswer(204, toVersionHeaders(bucket, version.value))) : err(toS3Error(removed.error));
  },
};
