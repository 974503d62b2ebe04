/** Contacts for address completion. They are loaded once, and again after a contact was changed. */
import { callJson, type Page } from '../../shared/api.ts';
import type { SavedContact } from './settings-api.ts';

let loading: Promise<SavedContact[]> | null = null;

export function knownContacts(): Promise<SavedContact[]> {
  loading ??= callJson<Page<SavedContact>>('/v1/contacts?limit=200').then(
    (page) => page.data,
    () => {
      loading = null;
      return [];
    },
  );
  return loading;
}

export function forgetKnownContacts(): void {
  loading = null;
}
