/** The state of this tab: the open conversation, dialog or list of folders. */
import { createStore } from '../../shared/store.ts';

export interface ViewState {
  threadId: string | null;
  /** The message of the conversation that a reply answers by default. */
  messageId: string | null;
  isHelpOpen: boolean;
  isMoveOpen: boolean;
  isLabelOpen: boolean;
  isSnoozeOpen: boolean;
  /** On a phone: the folders are shown. */
  isFoldersOpen: boolean;
  /** The end of the open conversation, where a reply to it is written; null if it has no room there. */
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
