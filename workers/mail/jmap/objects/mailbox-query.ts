/** Filters and sorts mailboxes (RFC 8621 §2.3). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { matchesFilter, readFilter } from '../protocol/filter.ts';
import type { Arguments, MethodError } from '../protocol/method.ts';
import type { JmapMailbox } from './mailbox.ts';

const conditionSchema = z.strictObject({
  parentId: z.string().nullable().optional(),
  name: z.string().optional(),
  role: z.string().nullable().optional(),
  hasAnyRole: z.boolean().optional(),
  isSubscribed: z.boolean().optional(),
});
type Condition = z.output<typeof conditionSchema>;

export interface MailboxQuery {
  readonly filter: Arguments | null;
  readonly sort: readonly { readonly property: string; readonly isAscending: boolean }[] | null;
  readonly sortAsTree: boolean;
  readonly filterAsTree: boolean;
}

/** @returns the ids of the mailboxes that match a filter, in the order of the sort. */
export function findMailboxes(
  mailboxes: readonly JmapMailbox[],
  { filter, sort, sortAsTree, filterAsTree }: MailboxQuery,
): Result<string[], MethodError> {
  const tree = readFilter(filter, conditionSchema);
  if (!tree.ok) return tree;
  const compare = toComparison(sort ?? []);
  if (compare === null) return err({ type: 'unsupportedSort' });
  const sorted = sortAsTree ? listTree(mailboxes, compare) : mailboxes.toSorted(compare);
  const matching = new Set(
    sorted
      .filter((mailbox) => tree.value === null || matchesFilter(tree.value, (each) => matches(mailbox, each)))
      .map(({ id }) => id),
  );
  if (!filterAsTree) return ok(sorted.map(({ id }) => id).filter((id) => matching.has(id)));
  const byId = new Map(mailboxes.map((mailbox) => [mailbox.id, mailbox]));
  const isShown = (id: string | null): boolean =>
    id === null || (matching.has(id) && isShown(byId.get(id)?.parentId ?? null));
  return ok(sorted.map(({ id }) => id).filter(isShown));
}

function matches(mailbox: JmapMailbox, condition: Condition): boolean {
  const { parentId, name, role, hasAnyRole, isSubscribed } = condition;
  return (
    (parentId === undefined || mailbox.parentId === parentId) &&
    (name === undefined || mailbox.name.toLowerCase().includes(name.toLowerCase())) &&
    (role === undefined || mailbox.role === role) &&
    (hasAnyRole === undefined || (mailbox.role !== null) === hasAnyRole) &&
    (isSubscribed === undefined || mailbox.isSubscribed === isSubscribed)
  );
}

type Comparison = (a: JmapMailbox, b: JmapMailbox) => number;

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  sortOrder: (a, b) => a.sortOrder - b.sortOrder,
  name: (a, b) => a.name.localeCompare(b.name),
};

/** @returns the comparison of two mailboxes; null if a property cannot be sorted by. */
function toComparison(
  sort: readonly { readonly property: string; readonly isAscending: boolean }[],
): Comparison | null {
  const steps: Comparison[] = [];
  for (const { property, isAscending } of sort) {
    const step = Object.hasOwn(COMPARISONS, property) ? COMPARISONS[property] : undefined;
    if (!step) return null;
    steps.push((a, b) => (isAscending ? step(a, b) : step(b, a)));
  }
  return (a, b) => steps.map((step) => step(a, b)).find((order) => order !== 0) ?? 0;
}

/** Lists parents before their children, and siblings in order. */
function listTree(mailboxes: readonly JmapMailbox[], compare: Comparison): JmapMailbox[] {
  const under = (parentId: string | null): JmapMailbox[] =>
    mailboxes
      .filter((mailbox) => mailbox.parentId === parentId)
      .sort(compare)
      .flatMap((mailbox) => [mailbox, ...under(mailbox.id)]);
  return under(null);
}
