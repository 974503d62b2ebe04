/** @returns the key of a folder name. Names that differ only in width, case or composition of letters have the same key. */
export const toNameKey = (name: string): string => name.normalize('NFKC').toLowerCase();
