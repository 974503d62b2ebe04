import { err, ok } from '../../shared/result.ts';
import { emptyAnswer } from '../answer.ts';
import { toS3Error } from '../engine-failures.ts';
import { parseVersionId } from '../object-version.ts';
import { deleteUnderCondition, toDeleteCondition } from '../write-conditions.ts';
import type { Operation } from './operation.ts';

export const deleteObject: Operation = {
  needs: 'bucket',
  permission: ({ query }) => ({
    action: query.get('versionId') ? 'DeleteObjectVersion' : 'DeleteObject',
    on: 'object',
    acl: { of: 'bucket', permission: 'WRITE' },
  }),
  async run({ request, bucket, engine }) {
    const versionId = parseVersionId(request.query.get('versionId'));
    if (!versionId.ok) return versionId;
    const condition = toDeleteCondition(
      request.headers.get('if-match'),
      request.headers.get('x-amz-if-match-last-modified-time'),
      request.headers.get('x-amz-if-match-size'),
    );
    if (!condition.ok) return condition;
    const deleted = await deleteUnderCondition(engine, bucket, {
      name: request.key,
      ...(versionId.value === undefined ? {} : { versionId: versionId.value }),
      ...condition.value,
    });
    if (!deleted.ok) return err(toS3Error(deleted.error));
    const { isMarker, versionId: shown, isNull } = deleted.value;
    return ok(
      emptyAnswer(204, {
        ...(isMarker ? { 'x-amz-delete-marker': 'true' } : {}),
        ...(shown === null || bucket.versioning === 'never' ? {} : { 'x-amz-version-id': isNull ? 'null' : shown }),
      }),
    );
  },
};
