/** Key of a folder name: ignores width, case and composition of letters. */
export const toNameKey = (name: string): string => name.normalize('NFKC').toLowerCase();
