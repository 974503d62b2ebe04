/** Senders that the user trusts or blocks. */
import { ApiError, callJson, type Page } from '../../shared/api.ts';
import { loadKept } from './kept-answers.ts';

export interface Sender {
  id: string;
  sender: string;
  kind: 'address' | 'domain' | 'list';
  status: 'trusted' | 'blocked';
  origin: 'user' | 'mail';
}

const PATH = '/v1/senders';
const PAGE_MAX = 200;

async function loadPages(): Promise<Sender[]> {
  const all: Sender[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const page: Page<Sender> = await callJson(`${PATH}?limit=${PAGE_MAX}${from}`);
    all.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
}
export const loadSenders = () => loadKept('senders', loadPages);

export const saveSender = (sender: string, status: Sender['status']) =>
  callJson<Sender>(PATH, { body: { sender, status } });

/** Succeeds if the decision was deleted already, for example by a request whose answer was lost. */
export const deleteSender = (id: string) =>
  callJson<unknown>(`${PATH}/${encodeURIComponent(id)}`, { method: 'DELETE' }).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  });
