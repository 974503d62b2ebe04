/** Contacts for address completion. Loaded once, and again after a change. */
import { callJson, type Page } from '../../shared/api.ts';
import type { SavedContact } from './settings-api.ts';

let asked: Promise<SavedContact[]> | null = null;

export function knownContacts(): Promise<SavedContact[]> {
  asked ??= callJson<Page<SavedContact>>('/v1/contacts?limit=200').then(
    (page) => page.data,
    () => {
      asked = null;
      return [];
    },
  );
  return asked;
}

export function forgetKnownContacts(): void {
  asked = null;
}
