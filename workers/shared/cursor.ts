/** Cursors of pages, opaque to clients: base64url of a JSON list. Pure. */

/** @param values key of the last entry of the page. */
export const encodeCursor = (values: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(values)).toString('base64url');

/** @returns the key of the last entry, or null if the text is not a cursor. */
export function decodeCursor(cursor: string): (string | number)[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const isScalar = (value: unknown) => typeof value === 'string' || typeof value === 'number';
    return Array.isArray(values) && values.every(isScalar) ? values : null;
  } catch {
    return null;
  }
}
