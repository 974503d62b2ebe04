/** Reads constraint errors of D1. Drizzle wraps them and keeps the database's message in `cause`. */

/**
 * @returns the columns or the index that a violated UNIQUE constraint names (`user.email`, `index 'user_name'`); null for any other
 * error.
 */
export function findUniqueConflict(error: unknown): string | null {
  const text = `${error} ${error instanceof Error ? error.cause : ''}`;
  return /UNIQUE constraint failed: ([^:\n]+)/.exec(text)?.[1]?.trim() ?? null;
}
