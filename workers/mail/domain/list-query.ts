/** Finds the messages of one mailing list. Pure. */
import type { HeaderField } from './written-fields.ts';

const LIST_ID = /<\s*([^<>\s"]{1,255})\s*>\s*$/;

/** @returns the identifier of the mailing list in lower case (RFC 2919); null without one. */
export function readListId(headers: readonly HeaderField[]): string | null {
  const [field, ...others] = headers.filter(({ name }) => name.toLowerCase() === 'list-id');
  return others.length > 0 ? null : (LIST_ID.exec(field?.value ?? '')?.[1]?.toLowerCase() ?? null);
}

/**
 * @param sender the address in From. Newsletters without List-Id are recognised by it.
 * @returns a search for all messages of the list; null if the list is unknown. A search for a sender may also find similar
 * addresses.
 */
export function toListQuery(listId: string | null, sender: string | null): string | null {
  if (listId !== null) return `list:"<${listId}>" in:any`;
  return sender === null || sender.includes('"') ? null : `from:"${sender}" in:any`;
}
