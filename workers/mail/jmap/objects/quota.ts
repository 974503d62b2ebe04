/** The only quota of JMAP (RFC 9425): the storage of the account. */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { matchesFilter, readFilter } from '../protocol/filter.ts';
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

const conditionSchema = z.strictObject({
  name: z.string().optional(),
  scope: z.string().optional(),
  resourceType: z.string().optional(),
  type: z.string().optional(),
});

/** @returns the id of the quota, in a list, if the quota matches the filter. */
export async function findQuotas(
  call: Call,
  { filter, sort }: { readonly filter: Arguments | null; readonly sort: readonly Arguments[] | null },
): Promise<Result<{ state: string; ids: string[] }, MethodError>> {
  const tree = readFilter(filter, conditionSchema);
  if (!tree.ok) return tree;
  if (sort?.some(({ property }) => property !== 'name' && property !== 'used')) return err({ type: 'unsupportedSort' });
  const read = await readQuota(call);
  if (!read.ok) return read;
  const { state, quota } = read.value;
  const isFound = tree.value === null || matchesFilter(tree.value, (condition) => matches(quota, condition));
  return ok({ state, ids: isFound ? [QUOTA_ID] : [] });
}

function matches(quota: Arguments, { name, scope, resourceType, type }: z.output<typeof conditionSchema>): boolean {
  return (
    (name === undefined || String(quota.name).toLowerCase().includes(name.toLowerCase())) &&
    (scope === undefined || quota.scope === scope) &&
    (resourceType === undefined || quota.resourceType === resourceType) &&
    (type === undefined || (quota.types as readonly string[]).includes(type))
  );
}
