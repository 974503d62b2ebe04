import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { ObjectLock } from '../../engine/model/contract.ts';
import { requireObjectLock } from '../objects/object-lock.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onObject } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

const readLock = (action: string, toAnswer: (lock: ObjectLock) => Result<Response, S3Failure>): Operation => ({
  needs: 'version',
  permission: onObject(action, action, null),
  async run(context) {
    const { request, bucket, found } = context;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const enabled = requireObjectLock(bucket);
    return enabled.ok ? toAnswer(version.value.lock) : enabled;
  },
});

export const getObjectRetention = readLock('GetObjectRetention', ({ mode, retainUntilMs }) => {
  if (mode === null || retainUntilMs === null) return err(s3Failure('NoSuchObjectLockConfiguration'));
  const until = element('RetainUntilDate', new Date(retainUntilMs).toISOString());
  return ok(xmlAnswer('Retention', [element('Mode', mode), until]));
});

export const getObjectLegalHold = readLock('GetObjectLegalHold', ({ isHeld }) =>
  isHeld === null
    ? err(s3Failure('NoSuchObjectLockConfiguration'))
    : ok(xmlAnswer('LegalHold', element('Status', isHeld ? 'ON' : 'OFF'))),
);
