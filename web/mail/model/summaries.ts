/** Messages as the list keeps them. Small, because a list may hold hundreds of thousands. */
import type { Address, Summary } from './api.ts';
import type { QueuedChange } from './change-queue.ts';
import { toShownLabels } from './labels.ts';

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
  const { id, thread_id, folder_id, received_at, subject, preview } = full;
  const { is_read, is_flagged, is_answered, is_forwarded, snoozed_until, is_draft, has_attachments } = full;
  return {
    ...{ id, thread_id, folder_id, received_at, subject, preview },
    ...{ is_read, is_flagged, is_answered, is_forwarded, snoozed_until, is_draft, has_attachments },
    from: full.from && shareAddress(full.from),
    to: full.to.length === 0 ? NO_ADDRESSES : full.to.map(shareAddress),
    labels: full.labels.length === 0 ? NO_LABELS : toShownLabels(full.labels),
    ...(full.snippet === undefined ? {} : { snippet: full.snippet }),
  };
}

/**
 * Applies changes that the server does not have yet to messages that were read from it.
 * @param folderId the folder that was read, whose messages leave when they are moved; null for a search.
 */
export function applyWaiting(
  messages: Summary[],
  changes: readonly QueuedChange[],
  folderId: string | null,
): Summary[] {
  if (changes.length === 0) return messages;
  let result = messages;
  for (const change of changes) {
    if (!('ids' in change)) continue;
    const ids = new Set(change.ids);
    if (change.kind === 'erase') {
      result = result.filter((message) => !ids.has(message.id));
      continue;
    }
    const { add_labels: added = [], remove_labels: removed = [], ...patch } = change.patch;
    result = result.map((message) => {
      if (!ids.has(message.id)) return message;
      const labels = [...new Set([...(patch.labels ?? message.labels), ...added])].filter(
        (label) => !removed.includes(label),
      );
      // Snoozed messages leave a folder, because the server moves them to the archive.
      const folder = patch.snoozed_until ? { folder_id: '' } : {};
      return { ...message, ...folder, ...patch, labels };
    });
  }
  return folderId === null ? result : result.filter((message) => message.folder_id === folderId);
}
