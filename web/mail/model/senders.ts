/** Senders that the user trusts or blocks. */
import { callJson, type Page } from '../../shared/api.ts';

export interface Sender {
  id: string;
  sender: string;
  kind: 'address' | 'domain' | 'list';
  status: 'trusted' | 'blocked';
  origin: 'user' | 'mail';
}

const PATH = '/v1/senders';
const PAGE_MAX = 200;

export const loadSenders = (cursor: string | null) =>
  callJson<Page<Sender>>(`${PATH}?limit=${PAGE_MAX}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);
export const saveSender = (sender: string, status: Sender['status']) =>
  callJson<Sender>(PATH, { body: { sender, status } });
export const deleteSender = (id: string) =>
  callJson<unknown>(`${PATH}/${encodeURIComponent(id)}`, { method: 'DELETE' });
