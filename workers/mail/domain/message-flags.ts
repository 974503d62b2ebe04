/**
 * The flags of a message, each with its column, which is also its name in the JSON API. A flag that is added here and to the table is
 * stored, patched, listed, searched, announced and restored. Pure.
 */
export const MESSAGE_FLAGS = {
  isRead: 'is_read',
  isFlagged: 'is_flagged',
  isAnswered: 'is_answered',
  isForwarded: 'is_forwarded',
} as const;

export type MessageFlag = keyof typeof MESSAGE_FLAGS;
export type FlagColumn = (typeof MESSAGE_FLAGS)[MessageFlag];
export type Flags = { readonly [Flag in MessageFlag]: boolean };
/** New flags of a message. An undefined flag stays unchanged. */
export type FlagPatch = { readonly [Flag in MessageFlag]?: boolean | undefined };

const ENTRIES = Object.entries(MESSAGE_FLAGS) as [MessageFlag, FlagColumn][];
export const FLAG_COLUMNS: readonly FlagColumn[] = ENTRIES.map(([, column]) => column);

const fromEntries = <Key extends string, Value>(entries: readonly (readonly [Key, Value])[]) =>
  Object.fromEntries(entries) as { readonly [Name in Key]: Value };

/** Flag columns of a message without flags. */
export const UNMARKED: Readonly<Record<FlagColumn, number>> = fromEntries(ENTRIES.map(([, column]) => [column, 0]));

/** @returns the flags of a row. */
export const toFlags = (row: Readonly<Record<FlagColumn, number>>): Flags =>
  fromEntries(ENTRIES.map(([flag, column]) => [flag, row[column] === 1]));

/** @returns the columns of a row after a patch. */
export const toFlagColumns = (
  before: Readonly<Record<FlagColumn, number>>,
  patch: FlagPatch,
): Readonly<Record<FlagColumn, number>> =>
  fromEntries(ENTRIES.map(([flag, column]) => [column, Number(patch[flag] ?? before[column])]));

/** @returns a patch that sets all flags. */
export const toFlagPatch = (flags: Flags): FlagPatch => fromEntries(ENTRIES.map(([flag]) => [flag, flags[flag]]));

/** @returns flags as the JSON API names them. */
export const toFlagJson = (flags: Flags): Readonly<Record<FlagColumn, boolean>> =>
  fromEntries(ENTRIES.map(([flag, column]) => [column, flags[flag]]));

/** Reads flags from the names of the JSON API. */
export const readFlagJson = (json: Readonly<Partial<Record<FlagColumn, boolean | undefined>>>): FlagPatch =>
  fromEntries(ENTRIES.map(([flag, column]) => [flag, json[column]]));
