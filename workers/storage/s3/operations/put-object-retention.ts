import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { LockChange } from '../../engine/model/contract.ts';
import { readDocument } from '../bodies/document-body.ts';
import { parseLegalHold, parseRetention } from '../documents/object-lock-documents.ts';
import { toVersionHeaders } from '../objects/object-headers.ts';
import { bypassesGovernance, requireObjectLock } from '../objects/object-lock.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onObject, type VersionContext } from '../protocol/operation.ts';

interface Change {
  readonly change: LockChange;
  /** Condition keys of a policy that describe the change of the retention. */
  readonly keys: Readonly<Record<string, string>>;
}

const writeLock = (
  action: string,
  read: (text: string, context: VersionContext) => Result<Change, S3Failure>,
): Operation => ({
  needs: 'version',
  permission: onObject(action, action, null),
  async run(context) {
    const { request, bucket, caller, engine, found } = context;
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const enabled = requireObjectLock(bucket);
    if (!enabled.ok) return enabled;
    const wanted = read(text.value, context);
    if (!wanted.ok) return wanted;
    // The permission is checked again with the new lock, because a policy may depend on it.
    const need = {
      action,
      key: request.key,
      acl: null,
      bucket,
      version: version.value,
      caller,
      context: wanted.value.keys,
    };
    if (!context.may(need)) return err(s3Failure('AccessDenied'));
    const set = await engine.setLock(version.value, wanted.value.change);
    return set.ok ? ok(emptyAnswer(200, toVersionHeaders(bucket, version.value))) : err(toS3Error(set.error));
  },
});

export const putObjectRetention = writeLock('PutObjectRetention', (text, context) => {
  const { now, request } = context;
  const retention = parseRetention(text, now);
  if (!retention.ok) return retention;
  const { mode, retainUntilMs } = retention.value ?? { mode: null, retainUntilMs: null };
  return ok({
    change: { mode, retainUntilMs, bypassesGovernance: bypassesGovernance(context, request.key) },
    keys: toRetentionKeys(mode, retainUntilMs, now),
  });
});

export const putObjectLegalHold = writeLock('PutObjectLegalHold', (text) => {
  const isHeld = parseLegalHold(text);
  if (!isHeld.ok) return isHeld;
  return ok({ change: { isHeld: isHeld.value }, keys: { 's3:object-lock-legal-hold': isHeld.value ? 'ON' : 'OFF' } });
});

const toRetentionKeys = (mode: string | null, retainUntilMs: number | null, now: number): Record<string, string> =>
  mode === null || retainUntilMs === null
    ? {}
    : {
        's3:object-lock-mode': mode,
        's3:object-lock-retain-until-date': new Date(retainUntilMs).toISOString(),
        's3:object-lock-remaining-retention-days': String(Math.ceil((retainUntilMs - now) / 86_400_000)),
      };
