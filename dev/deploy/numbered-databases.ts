/** The kinds of databases of which a deployment may have several: `OBJECTS_0`, `OBJECTS_1`, … and `DIRECTORY`, `DIRECTORY_1`, … */

export type DatabaseKind = 'DIRECTORY' | 'OBJECTS';

/** The common prefix of all names of resources. */
export const PREFIX = 'tessera';

/** Valid numbers of user databases. They come in groups of 1, 4, 16 and 64. */
export const DIRECTORY_TOTALS = ['1', '5', '21', '85'] as const;
const SHARDS_MAX = 64;

interface Rule {
  /** Option of `npm run deploy` that sets the number. */
  readonly option: 'shards' | 'directories';
  /** Name for several of these databases, for errors. */
  readonly plural: string;
  readonly totals: readonly number[];
  /** The valid numbers as text that completes "must be …". */
  readonly allowed: string;
}

export const DATABASE_RULES: Readonly<Record<DatabaseKind, Rule>> = {
  OBJECTS: {
    option: 'shards',
    plural: 'shards',
    totals: Array.from({ length: SHARDS_MAX }, (_, n) => n + 1),
    allowed: `a whole number from 1 to ${SHARDS_MAX}`,
  },
  DIRECTORY: {
    option: 'directories',
    plural: 'user databases',
    totals: DIRECTORY_TOTALS.map(Number),
    allowed: '1, 5, 21 or 85',
  },
};

/** Lists the first databases of a kind. `DIRECTORY` itself is number 0 of its kind. */
export const listDatabases = (kind: DatabaseKind, total: number): { binding: string; name: string }[] =>
  Array.from({ length: total }, (_, n) => {
    const isUnnumbered = kind === 'DIRECTORY' && n === 0;
    return {
      binding: isUnnumbered ? kind : `${kind}_${n}`,
      name: `${PREFIX}-${kind.toLowerCase()}${isUnnumbered ? '' : `-${n}`}`,
    };
  });

/** Parses a number of databases. @returns undefined if the kind cannot have that many. */
export const parseTotal = (kind: DatabaseKind, text: string): number | undefined =>
  DATABASE_RULES[kind].totals.find((total) => String(total) === text);

/**
 * Counts the databases of a kind that a deployment has, by the highest number among the existing names.
 * @returns the count, rounded up to a valid number, because an interrupted run may have created only a part of a group.
 */
export function countDatabases(kind: DatabaseKind, existing: Iterable<string>, environment: string): number {
  const names = new Set(existing);
  const { totals } = DATABASE_RULES[kind];
  const all = listDatabases(kind, Math.max(...totals));
  const last = all.findLastIndex(({ name }) => names.has(toResourceName(name, environment)));
  return totals.find((total) => total > last) ?? 1;
}

/** Puts the environment of a deployment into the name of a resource. @throws Error if the name lacks the common prefix. */
export function toResourceName(name: string, environment: string): string {
  if (!name.startsWith(PREFIX)) throw new Error(`wrangler.toml: the name ${name} must start with "${PREFIX}".`);
  return environment === '' ? name : `${PREFIX}-${environment}${name.slice(PREFIX.length)}`;
}
