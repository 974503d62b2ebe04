/** What makes two names of a folder the same: width, case and composition of letters do not count. */
export const toNameKey = (name: string): string => name.normalize('NFKC').toLowerCase();
