/** Senders that the user trusts or blocks. */
import type { SenderAnswer } from '../../../workers/mail/schemas/sender.ts';
import { ApiError, callJson, type Page } from '../../shared/api.ts';
import { loadKept } from './kept-answers.ts';

export type Sender = Omit<SenderAnswer, 'created_at'>;

/** The entries of a table with one row for each decision about a sender. */
export const entriesOf = <T>(table: Readonly<Record<Sender['status'], T>>): [Sender['status'], T][] =>
  Object.entries(table) as [Sender['status'], T][];

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
