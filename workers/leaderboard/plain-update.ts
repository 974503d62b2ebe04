/**
 * Fast validation of updates in a batch. Running the schema costs more than counting the score. Accepts only updates
 * that `updateSchema` accepts unchanged; the schema handles all others, with reasons for errors.
 */
import { POINTS_MAX, type UpdateJson, USER_ID } from './contract.ts';
import { parseSeason } from './domain/season-name.ts';

/** With a visible character. */
const PLAIN_NAME = /^(?= *[^ ])[\x20-\x7e]{1,64}$/;
const PLAIN_EVENT_ID = /^[\x20-\x7e]{1,128}$/;

/** @param value parsed JSON. @returns null if the schema has to validate it. */
export function readPlainUpdate(value: unknown): UpdateJson | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  for (const name in value) if (!isPlain(name, (value as Record<string, unknown>)[name])) return null;
  return 'user_id' in value && 'points' in value ? (value as UpdateJson) : null;
}

function isPlain(name: string, value: unknown): boolean {
  switch (name) {
    case 'user_id':
      return typeof value === 'string' && USER_ID.test(value);
    case 'points':
      return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= POINTS_MAX;
    case 'user_name':
      return typeof value === 'string' && PLAIN_NAME.test(value);
    case 'event_id':
      return typeof value === 'string' && PLAIN_EVENT_ID.test(value);
    case 'season':
      return typeof value === 'string' && parseSeason(value) !== null;
    default:
      return false;
  }
}
