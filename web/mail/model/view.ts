/** State of what this tab shows: the open conversation, the open dialog, and the list of folders on a phone. */
import { createStore } from '../../shared/store.ts';

export interface ViewState {
  threadId: string | null;
  /** Id of the message in the open conversation that a reply answers by default. */
  messageId: string | null;
  isHelpOpen: boolean;
  isMoveOpen: boolean;
  isLabelOpen: boolean;
  isSnoozeOpen: boolean;
  /** Whether the list of folders is open (on a phone). */
  isFoldersOpen: boolean;
  /** Element at the end of the open conversation in which a reply is written; null if the conversation has no room for it. */
  replySlot: HTMLElement | null;
}

export const CLOSED: ViewState = {
  threadId: null,
  messageId: null,
  isHelpOpen: false,
  isMoveOpen: false,
  isLabelOpen: false,
  isSnoozeOpen: false,
  isFoldersOpen: false,
  replySlot: null,
};

export const view = createStore<ViewState>(CLOSED);
