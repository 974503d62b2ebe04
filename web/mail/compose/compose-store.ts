/** The message being written in this tab, and where it is saved. */
import { createStore } from '../../shared/store.ts';
import type { DraftAnswer } from '../model/api.ts';
import { session } from '../model/session.ts';
import { blankWriting, type Writing } from './writing.ts';

export interface ComposeState {
  writing: Writing | null;
  /** Whether a reply or draft was asked for whose message is still being read. Keys wait for its window. */
  isOpening: boolean;
  /**
   * State of saving the message. `here`: saved in this browser only. `drafts`: saved in Drafts. `changed`: the draft has two versions,
   * and the user must choose.
   */
  saved: 'no' | 'here' | 'drafts' | 'failed' | 'changed';
  /** Reason why saving to Drafts failed, as text for the user. */
  trouble: string | null;
  /** The version of this draft that another tab or device has saved. */
  theirs: DraftAnswer | null;
  isSending: boolean;
  /** Why the server refused to send the message. */
  error: string | null;
  /** Whether a reply is written in a window of its own instead of at the end of its conversation. */
  isPoppedOut: boolean;
  /** Whether the Reply-To field is open. */
  isReplyToShown: boolean;
  /** Whether the window fills the page. */
  isFull: boolean;
  /** The reply that was closed last and is in Drafts. The conversation may not show its draft yet. */
  closed: { readonly inReplyTo: string; readonly draftId: string } | null;
}

export const CLOSED_COMPOSE: ComposeState = {
  writing: null,
  isOpening: false,
  saved: 'no',
  trouble: null,
  theirs: null,
  isSending: false,
  error: null,
  isPoppedOut: false,
  isReplyToShown: false,
  isFull: false,
  closed: null,
};

export const compose = createStore<ComposeState>(CLOSED_COMPOSE);

export const newWriting = (): Writing => blankWriting(crypto.randomUUID(), session.get().profile?.signature ?? '');
