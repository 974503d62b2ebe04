/** Messages as the list keeps them. Small, because a list may hold hundreds of thousands. */
import type { Address, Summary } from './api.ts';

/** Addresses and empty lists are stored once and shared between messages. */
const addresses = new Map<string, Address>();
const NO_ADDRESSES: Summary['to'] = [];
const NO_LABELS: string[] = [];

export const forgetAddresses = (): void => addresses.clear();

function shareAddress<T extends Address>(address: T): T {
  const key = `${address.email}\n${address.name}`;
  const known = addresses.get(key) as T | undefined;
  if (!known) addresses.set(key, address);
  return known ?? address;
}

/** Copies only the fields that the list needs. */
export function toSummary(full: Summary): Summary {
  const { id, thread_id, folder_id, date, subject, preview, is_read, is_flagged, is_draft, has_attachments } = full;
  return {
    ...{ id, thread_id, folder_id, date, subject, preview, is_read, is_flagged, is_draft, has_attachments },
    from: full.from && shareAddress(full.from),
    to: full.to.length === 0 ? NO_ADDRESSES : full.to.map(shareAddress),
    labels: full.labels.length === 0 ? NO_LABELS : full.labels,
    ...(full.snippet === undefined ? {} : { snippet: full.snippet }),
  };
}
