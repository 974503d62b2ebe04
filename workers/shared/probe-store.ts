/** Asks a database for the smallest answer. Raw SQL, because it names no table: every database is probed alike. */
export const probeDatabase = (database: D1Database): Promise<unknown> => database.prepare('SELECT 1').run();
