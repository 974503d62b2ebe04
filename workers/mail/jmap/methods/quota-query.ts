/** `Quota/query` (RFC 9425 §4.4). */
import { z } from '@hono/zod-openapi';
import { err } from '../../../shared/result.ts';
import { QUOTA_ID, readQuota } from '../objects/quota.ts';
import { queryArguments } from '../protocol/arguments.ts';
import { matchesFilter, readFilter } from '../protocol/filter.ts';
import { type Arguments, method } from '../protocol/method.ts';
import { answerQuery } from '../protocol/standard.ts';

const conditionSchema = z.strictObject({
  name: z.string().optional(),
  scope: z.string().optional(),
  resourceType: z.string().optional(),
  type: z.string().optional(),
});
type Condition = z.output<typeof conditionSchema>;

export const quotaQuery = method({
  capability: 'quota',
  schema: z.strictObject(queryArguments),
  run: async (call, args) => {
    const tree = readFilter(args.filter, conditionSchema);
    if (!tree.ok) return tree;
    if (args.sort?.some(({ property }) => property !== 'name' && property !== 'used'))
      return err({ type: 'unsupportedSort' });
    const read = await readQuota(call);
    if (!read.ok) return read;
    const { state, quota } = read.value;
    const ids =
      tree.value === null || matchesFilter(tree.value, (condition) => matches(quota, condition)) ? [QUOTA_ID] : [];
    return answerQuery(call, args, { queryState: state, ids, canCalculateChanges: false });
  },
});

function matches(quota: Arguments, { name, scope, resourceType, type }: Condition): boolean {
  return (
    (name === undefined || String(quota.name).toLowerCase().includes(name.toLowerCase())) &&
    (scope === undefined || quota.scope === scope) &&
    (resourceType === undefined || quota.resourceType === resourceType) &&
    (type === undefined || (quota.types as readonly string[]).includes(type))
  );
}
