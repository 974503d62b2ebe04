/**
 * Number of user databases in the tests, `DIRECTORY` included. `TESSERA_DIRECTORIES=5` runs the tests with five.
 */
import { DIRECTORY_TOTALS } from '../../dev/deploy/numbered-databases.ts';

const given = process.env.TESSERA_DIRECTORIES || '1';
if (!DIRECTORY_TOTALS.some((total) => total === given))
  throw new Error(`TESSERA_DIRECTORIES must be one of ${DIRECTORY_TOTALS.join(', ')}.`);

export const DIRECTORIES = Number(given);
