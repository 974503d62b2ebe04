import { err } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { deleteUnderCondition, toDeleteCondition } from '../objects/delete-conditions.ts';
import { bypassesGovernance } from '../objects/object-lock.ts';
import { mayCompare } from '../objects/object-upload.ts';
import { parseVersionId } from '../objects/object-version.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';
import { refuseConditions } from '../protocol/unsupported-headers.ts';

export const deleteObject: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: ({ query }) => ({
    action: query.get('versionId') ? 'DeleteObjectVersion' : 'DeleteObject',
    on: 'object',
    acl: { of: 'bucket', permission: 'WRITE' },
  }),
  async run(context) {
    const { request, bucket, engine } = context;
    const refused = refuseConditions(request.headers, ['if-none-match', 'if-modified-since', 'if-unmodified-since']);
    if (refused) return err(refused);
    if (!mayCompare(context, request.key, request.headers.get('if-match'))) return err(s3Failure('AccessDenied'));
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
      bypassesGovernance: bypassesGovernance(context, request.key),
      ...(versionId.value === undefined ? {} : { versionId: versionId.value }),
      ...condition.value,
    });
    if (!deleted.ok) return toFailure(deleted);
    const { isMarker, versionId: shown, isNull } = deleted.value;
    return {
      ok: true,
      value: emptyAnswer(204, {
        ...(isMarker ? { 'x-amz-delete-marker': 'true' } : {}),
        ...(shown === null || bucket.versioning === 'never' ? {} : { 'x-amz-version-id': isNull ? 'null' : shown }),
      }),
      proof: deleted.proof,
    };
  },
};
