/** Reads the Object Lock of a new object from headers or the bucket's default, and writes the headers that show it. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import { isLockMode, toRetainUntil } from '../../domain/object-lock.ts';
import type { Bucket, ObjectLock, StoredVersion } from '../../engine/model/contract.ts';
import { objectLockOf } from '../access/bucket-configuration.ts';
import { parseRetainUntil } from '../documents/object-lock-documents.ts';
import type { BucketContext, VersionContext } from '../protocol/operation.ts';

const [MODE, UNTIL, HOLD] = [
  'x-amz-object-lock-mode',
  'x-amz-object-lock-retain-until-date',
  'x-amz-object-lock-legal-hold',
] as const;

const NO_CONFIGURATION = s3Failure('InvalidRequest', 'Bucket is missing Object Lock Configuration');

/** Fails if Object Lock is not enabled for the bucket. */
export const requireObjectLock = (bucket: Bucket): Result<null, S3Failure> =>
  objectLockOf(bucket) === null ? err(NO_CONFIGURATION) : ok(null);

/**
 * Reads the Object Lock of a new object. A request that sets one needs the permissions to do so (User Guide, "Object Lock
 * considerations").
 */
export function readNewLock(
  context: BucketContext,
  headers: { get(name: string): string | null },
  key: string,
): Result<ObjectLock | null, S3Failure> {
  const { bucket, now } = context;
  const [mode, until, hold] = [headers.get(MODE), headers.get(UNTIL), headers.get(HOLD)];
  if ((mode === null) !== (until === null)) {
    return err(s3Failure('InvalidArgument', `${UNTIL} and ${MODE} must both be supplied`));
  }
  if (mode !== null && !isLockMode(mode)) return err(invalidArgument(MODE, mode, 'Unknown wormMode directive.'));
  if (hold !== null && hold !== 'ON' && hold !== 'OFF') {
    return err(invalidArgument(HOLD, hold, 'Legal Hold must be either of ON or OFF'));
  }
  const configuration = objectLockOf(bucket);
  if (configuration === null) return mode !== null || hold === 'ON' ? err(NO_CONFIGURATION) : ok(null);
  const retainUntil = until === null ? null : parseRetainUntil(until, now);
  if (retainUntil && !retainUntil.ok) return retainUntil;
  if (mode !== null && !mayAlso(context, 'PutObjectRetention', key)) return err(s3Failure('AccessDenied'));
  if (hold !== null && !mayAlso(context, 'PutObjectLegalHold', key)) return err(s3Failure('AccessDenied'));
  const byDefault = configuration.defaultRetention;
  const isHeld = hold === null ? null : hold === 'ON';
  if (mode !== null && retainUntil) return ok({ mode, retainUntilMs: retainUntil.value, isHeld });
  if (byDefault) return ok({ mode: byDefault.mode, retainUntilMs: toRetainUntil(byDefault, now), isHeld });
  return ok({ mode: null, retainUntilMs: null, isHeld });
}

const mayAlso = (context: BucketContext, action: string, key: string): boolean =>
  context.may({ action, key, acl: null, bucket: context.bucket, caller: context.caller });

/** Whether the request asks to bypass GOVERNANCE retention and the caller has the right to do so. */
export const bypassesGovernance = (context: BucketContext, key: string): boolean =>
  context.request.headers.get('x-amz-bypass-governance-retention')?.toLowerCase() === 'true' &&
  mayAlso(context, 'BypassGovernanceRetention', key);

/** Adds the Object Lock headers to an answer, if the caller may read them. */
export function addLockHeaders(context: VersionContext, version: StoredVersion, headers: Headers): void {
  const { mode, retainUntilMs, isHeld } = version.lock;
  const may = (action: string) =>
    context.may({
      action,
      key: version.name,
      acl: { of: 'object', permission: 'READ' },
      bucket: context.bucket,
      version,
      caller: context.caller,
    });
  if (mode !== null && retainUntilMs !== null && may('GetObjectRetention')) {
    headers.set(MODE, mode);
    headers.set(UNTIL, new Date(retainUntilMs).toISOString());
  }
  if (isHeld !== null && may('GetObjectLegalHold')) headers.set(HOLD, isHeld ? 'ON' : 'OFF');
}
