/** Filters and sorts submissions (RFC 8621 §7.3). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { idSchema, utcDateSchema } from '../protocol/arguments.ts';
import { matchesFilter, readFilter } from '../protocol/filter.ts';
import type { Arguments, MethodError } from '../protocol/method.ts';
import type { Submission } from './submission.ts';

const conditionSchema = z.strictObject({
  identityIds: z.array(idSchema).nullish(),
  emailIds: z.array(idSchema).nullish(),
  threadIds: z.array(idSchema).nullish(),
  undoStatus: z.enum(['pending', 'final', 'canceled']).nullish(),
  before: utcDateSchema.nullish(),
  after: utcDateSchema.nullish(),
});
type Condition = z.output<typeof conditionSchema>;

/** Functions that return the value to sort by, by property. In sorts, the property `sendAt` is called `sentAt` (RFC 8621 §7.3). */
const SORTS: Readonly<Record<string, (submission: Submission) => string>> = {
  emailId: ({ emailId }) => emailId,
  threadId: ({ threadId }) => threadId,
  sentAt: ({ sendAt }) => sendAt,
};

export function findSubmissions(
  submissions: readonly Submission[],
  query: {
    readonly filter: Arguments | null;
    readonly sort: readonly { readonly property: string; readonly isAscending: boolean }[] | null;
  },
): Result<string[], MethodError> {
  const tree = readFilter(query.filter, conditionSchema);
  if (!tree.ok) return tree;
  const { value: filter } = tree;
  const sort = query.sort ?? [];
  if (sort.some(({ property }) => !Object.hasOwn(SORTS, property))) return err({ type: 'unsupportedSort' });
  const compare = (a: Submission, b: Submission): number => {
    for (const { property, isAscending } of sort) {
      const [left, right] = [SORTS[property]?.(a) ?? '', SORTS[property]?.(b) ?? ''];
      if (left !== right) return left < right === isAscending ? -1 : 1;
    }
    return 0;
  };
  const found = submissions.filter(
    (submission) => filter === null || matchesFilter(filter, (condition) => matches(submission, condition)),
  );
  return ok(found.sort(compare).map(({ id }) => id));
}

function matches(submission: Submission, condition: Condition): boolean {
  const { identityIds, emailIds, threadIds, undoStatus, before, after } = condition;
  const time = Date.parse(submission.sendAt);
  return (
    (identityIds == null || identityIds.includes(submission.identityId)) &&
    (emailIds == null || emailIds.includes(submission.emailId)) &&
    (threadIds == null || threadIds.includes(submission.threadId)) &&
    (undoStatus == null || submission.undoStatus === undoStatus) &&
    (before == null || time < Date.parse(before)) &&
    (after == null || time >= Date.parse(after))
  );
}
