/** The storage of the account as the only quota (RFC 9425). */
import { err, ok, type Result } from '../../../shared/result.ts';
import { type Arguments, type Call, type MethodError, toMethodError } from '../protocol/method.ts';

export const QUOTA_ID = 'storage';
export const QUOTA_PROPERTIES = [
  'id',
  'resourceType',
  'used',
  'hardLimit',
  'warnLimit',
  'softLimit',
  'scope',
  'name',
  'description',
  'types',
] as const;

export async function readQuota(call: Call): Promise<Result<{ state: string; quota: Arguments }, MethodError>> {
  const profile = await call.ask((mailbox) => mailbox.readProfile());
  if (!profile.ok) return err(toMethodError(profile.error));
  const { state, usedBytes, limitBytes } = profile.value;
  const quota = {
    id: QUOTA_ID,
    resourceType: 'octets',
    used: usedBytes,
    hardLimit: limitBytes,
    warnLimit: null,
    softLimit: null,
    scope: 'account',
    name: 'Storage',
    description: null,
    types: ['Email'],
  };
  return ok({ state, quota });
}
