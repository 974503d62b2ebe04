/** The user's masked addresses: which message came to which, and with which note. They are loaded when a message may have come to one. */
import { useEffect } from 'react';
import type { z } from 'zod';
import { isMaskedName } from '../../../workers/mail/domain/masked-name-form.ts';
import type { maskedSchema } from '../../../workers/mail/schemas/masked.ts';
import { callJson } from '../../shared/api.ts';
import { createStore, useStore } from '../../shared/store.ts';
import type { Message } from './api.ts';
import { session } from './session.ts';

export type MaskedAddress = z.infer<typeof maskedSchema>;

const PATH = '/v1/me/masked-addresses';
const masked = createStore<{ owner: string; list: MaskedAddress[] | null }>({ owner: '', list: null });
const ownerNow = () => session.get().profile?.user_id ?? '';

export async function loadMasked(): Promise<MaskedAddress[]> {
  const owner = ownerNow();
  const list = await callJson<MaskedAddress[]>(PATH);
  masked.set({ owner, list });
  return list;
}

/** Hook that returns the masked addresses as they were loaded last; null before. */
export const useMasked = (): MaskedAddress[] | null =>
  useStore(masked, ({ owner, list }) => (owner === ownerNow() ? list : null));

const changed = (one: MaskedAddress) =>
  masked.set(({ list }) => ({ list: [one, ...(list ?? []).filter(({ email }) => email !== one.email)] }));

/** Makes an address with one call. @param note where it will be given away. */
export async function makeMasked(note: string): Promise<MaskedAddress> {
  const one = await callJson<MaskedAddress>(PATH, { body: { note } });
  if (masked.get().owner === ownerNow()) changed(one);
  return one;
}

/** Ends an address, opens it again, or changes its note. */
export async function changeMasked(
  email: string,
  body: { state?: 'enabled' | 'deleted'; note?: string },
): Promise<MaskedAddress> {
  const one = await callJson<MaskedAddress>(`${PATH}/${encodeURIComponent(email)}`, { method: 'PATCH', body });
  masked.set(({ list }) => ({ list: list?.map((each) => (each.email === email ? one : each)) ?? null }));
  return one;
}

/** Recipients of a message that have the form of a masked address. */
const listCandidates = (message: Message): string[] =>
  [...message.to, ...message.cc, ...(message.delivered_to ? [{ email: message.delivered_to }] : [])]
    .map(({ email }) => email.toLowerCase())
    .filter(isMaskedName);

/** Hook that returns the masked address to which a message came; null for any other message. */
export function useMaskedOf(message: Message): MaskedAddress | null {
  const list = useMasked();
  const candidates = listCandidates(message);
  const isNeeded = candidates.length > 0 && list === null;
  useEffect(() => {
    if (isNeeded) loadMasked().catch(() => undefined);
  }, [isNeeded]);
  return list?.find(({ email }) => candidates.includes(email)) ?? null;
}

/**
 * @returns the masked address from which a reply to the message leaves, also if it has ended, because a reply from another address
 * would tell whose it was; null for any other message.
 * @throws ApiError if the addresses cannot be read.
 */
export async function findMaskedSender(message: Message): Promise<MaskedAddress | null> {
  const candidates = listCandidates(message);
  if (candidates.length === 0) return null;
  const find = (list: readonly MaskedAddress[]) => list.find(({ email }) => candidates.includes(email));
  const { owner, list } = masked.get();
  const known = owner === ownerNow() && list !== null ? find(list) : undefined;
  return known ?? find(await loadMasked()) ?? null;
}
