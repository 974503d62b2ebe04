/**
 * Ids of rows of `version`. They ascend and begin with the epoch of the journal, so the versions of an epoch are a range of the
 * table. The journal and packing read new versions from that range, without an index or a change record for each.
 *
 * More than 1,000 versions in a millisecond get ids of a later epoch. They then wait for the next journal.
 */

const IDS_PER_MS = 1000;

/** SQL of the epoch under which commits record their changes; 0 until the journal is first written. */
export const EPOCH = "COALESCE((SELECT CAST(state AS INTEGER) FROM task WHERE name = 'journal'), 0)";

/** SQL of the first epoch whose versions are not in the journal yet. */
export const FLUSHED = "COALESCE((SELECT CAST(state AS INTEGER) FROM task WHERE name = 'journal flushed'), 0)";

/** SQL of the first row id of an epoch. */
export const firstIdOf = (epoch: string): string => `(${epoch} * ${IDS_PER_MS})`;

/**
 * SQL of the row id from which versions may wait to be packed. All versions before it are packed; new versions get ids of the
 * present epoch, which are greater.
 */
export const PACKED = "COALESCE((SELECT CAST(state AS INTEGER) FROM task WHERE name = 'packed'), 0)";

/** Maximum number of versions that one search for waiting ones examines. Only a rebuild leaves more versions after `PACKED`. */
const EXAMINED_MAX = 100_000;

/** SQL of the versions `v` with inline data from `PACKED` on, up to the end of the examined range. */
export const WAITING = `version v WHERE v.data IS NOT NULL AND v.id >= ${PACKED} AND v.id < COALESCE((SELECT x.id FROM version x
  WHERE x.id >= ${PACKED} ORDER BY x.id LIMIT 1 OFFSET ${EXAMINED_MAX}), 1e18)`;

/** SQL of the row id to which `PACKED` can advance: the first waiting version, else the end of the examined range. */
export const NEXT_PACKED = `MIN(${firstIdOf(EPOCH)}, COALESCE((SELECT v.id FROM ${WAITING} ORDER BY v.id LIMIT 1),
  (SELECT x.id FROM version x WHERE x.id >= ${PACKED} ORDER BY x.id LIMIT 1 OFFSET ${EXAMINED_MAX}), ${firstIdOf(EPOCH)}))`;

/**
 * SQL of the row id of the next version. It is positive even if all rows have negative ids (`small-store.ts`). A statement that inserts several rows adds the row's index, because SQLite evaluates this
 * expression once.
 */
export const NEXT_ID = `MAX(1, COALESCE((SELECT MAX(id) FROM version), 0) + 1, ${firstIdOf(EPOCH)})`;
