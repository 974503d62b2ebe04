/** Filters of queries: conditions that operators combine (RFC 8620 §5.5). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type Arguments, invalidArguments, type MethodError } from './method.ts';

export type FilterTree<Condition> =
  | { readonly kind: 'condition'; readonly condition: Condition }
  | {
      readonly kind: 'operator';
      readonly operator: 'AND' | 'OR' | 'NOT';
      readonly of: readonly FilterTree<Condition>[];
    };

const operatorSchema = z.strictObject({
  operator: z.enum(['AND', 'OR', 'NOT']),
  conditions: z.array(z.record(z.string(), z.unknown())),
});
const DEPTH_MAX = 10;
const CONDITIONS_MAX = 100;

/** Reads a filter. @returns null for a filter that every object matches. */
export function readFilter<Condition>(
  filter: Arguments | null,
  schema: z.ZodType<Condition>,
): Result<FilterTree<Condition> | null, MethodError> {
  let count = 0;
  const read = (node: Arguments, depth: number): Result<FilterTree<Condition>, MethodError> => {
    count += 1;
    if (depth > DEPTH_MAX || count > CONDITIONS_MAX)
      return err({
        type: 'unsupportedFilter',
        description: `At most ${CONDITIONS_MAX} conditions, ${DEPTH_MAX} deep.`,
      });
    if (!('operator' in node)) {
      const condition = schema.safeParse(node);
      if (condition.success) return ok({ kind: 'condition', condition: condition.data });
      const [issue] = condition.error.issues;
      return err(
        issue?.code === 'unrecognized_keys'
          ? { type: 'unsupportedFilter', description: `Unknown condition: ${issue.keys.join(', ').slice(0, 200)}` }
          : invalidArguments(`filter: ${issue?.path.join('.')}: ${issue?.message}`),
      );
    }
    const operator = operatorSchema.safeParse(node);
    if (!operator.success) return err(invalidArguments('filter: An operator is AND, OR or NOT with conditions.'));
    const of: FilterTree<Condition>[] = [];
    for (const each of operator.data.conditions) {
      const part = read(each, depth + 1);
      if (!part.ok) return part;
      of.push(part.value);
    }
    return ok({ kind: 'operator', operator: operator.data.operator, of });
  };
  return filter === null || Object.keys(filter).length === 0 ? ok(null) : read(filter, 1);
}

/** Whether an object matches a filter. */
export function matchesFilter<Condition>(
  tree: FilterTree<Condition>,
  test: (condition: Condition) => boolean,
): boolean {
  if (tree.kind === 'condition') return test(tree.condition);
  const each = (part: FilterTree<Condition>) => matchesFilter(part, test);
  if (tree.operator === 'AND') return tree.of.every(each);
  return tree.operator === 'OR' ? tree.of.some(each) : !tree.of.some(each);
}
