/** Messages as the list keeps them. Small, because a list may hold hundreds of thousands. */
import type { Address, Summary } from './api.ts';

/** Addresses and empty lists are stored once and shared between messages. */
const people = new Map<string, Address>();
const NOBODY: Summary['to'] = [];
const UNLABELLED: string[] = [];

export const forgetPeople = (): void => people.clear();

function keepPerson<T extends Address>(person: T): T {
  const key = `${person.email}\n${person.name}`;
  const known = people.get(key) as T | undefined;
  if (!known) people.set(key, person);
  return known ?? person;
}

/** Copies only the fields that the list needs. */
export function toSummary(full: Summary): Summary {
  const { id, thread_id, folder_id, date, subject, preview, is_read, is_flagged, is_draft, has_attachments } = full;
  return {
    ...{ id, thread_id, folder_id, date, subject, preview, is_read, is_flagged, is_draft, has_attachments },
    from: full.from && keepPerson(full.from),
    to: full.to.length === 0 ? NOBODY : full.to.map(keepPerson),
    labels: full.labels.length === 0 ? UNLABELLED : full.labels,
    ...(full.snippet === undefined ? {} : { snippet: full.snippet }),
  };
}
