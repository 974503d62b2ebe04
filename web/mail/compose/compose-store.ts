/** The message that is being written in this tab, and how safe it is. */
import { createStore } from '../../shared/store.ts';
import type { DraftAnswer } from '../model/api.ts';
import { session } from '../model/session.ts';
import { blankWriting, type Writing } from './writing.ts';

export interface ComposeState {
  writing: Writing | null;
  /** `here` is this browser; `drafts` says that Drafts has every word; `changed` waits for the writer's choice. */
  saved: 'no' | 'here' | 'drafts' | 'failed' | 'changed';
  /** Why Drafts has not got it. */
  trouble: string | null;
  /** What another tab or device made of the same draft meanwhile. */
  theirs: DraftAnswer | null;
  isSending: boolean;
}

export const CLOSED_COMPOSE: ComposeState = {
  writing: null,
  saved: 'no',
  trouble: null,
  theirs: null,
  isSending: false,
};

export const compose = createStore<ComposeState>(CLOSED_COMPOSE);

export const newWriting = (): Writing => blankWriting(crypto.randomUUID(), session.get().profile?.signature ?? '');
