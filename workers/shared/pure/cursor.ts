/** Cursors of pages, opaque to clients: base64url of a JSON list. Pure. */

/** Makes the cursor of the page that follows. @param values key of the last entry of the present page. */
export const encodeCursor = (values: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(values)).toString('base64url');

/** Parses a cursor. @returns the key that it contains, or null if the text is not a cursor. */
export function decodeCursor(cursor: string): (string | number)[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const isScalar = (value: unknown) => typeof value === 'string' || typeof value === 'number';
    return Array.isArray(values) && values.every(isScalar) ? values : null;
  } catch {
    return null;
  }
}
