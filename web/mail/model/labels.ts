/** The labels of the mailbox. They are read at the start, after a change of labels, and when a message has an unknown one. */
import { callJson, type Page } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { loadKept } from './kept-answers.ts';

/** Limit of labels that are listed. More do not fit beside the list of messages. */
const LABELS_MAX = 50;

/** The label of a message whose list the user has left. The server sets it. */
export const UNSUBSCRIBED_LABEL = '$unsubscribed';

/**
 * Marks that mail programs keep as keywords, such as `$mdnsent`, and what their own spam filters said. They are no labels to a person.
 * Thunderbird's tags `$label1` to `$label5` are. Imported ones have capitals, as in `NonJunk`.
 */
const isOfProgram = (name: string): boolean => /^(?:\$(?!label\d$)|(?:(?:non|not)-?)?junk$)/i.test(name);

/** Filters the labels that the page lists. The mark that the server sets itself is shown in words beside the sender instead. */
export const toShownLabels = (names: readonly string[]): string[] => names.filter((name) => !isOfProgram(name));

export const labels = createStore<{ names: readonly string[] }>({ names: [] });

let reading: Promise<void> | null = null;

export function refreshLabels(): Promise<void> {
  const path = `/v1/labels?limit=${LABELS_MAX}`;
  const own = loadKept('labels', () => callJson<Page<{ label: string }>>(path)).then(
    ({ data }) => {
      if (reading === own) labels.set({ names: toShownLabels(data.map(({ label }) => label)) });
    },
    // If the server cannot be reached, labels are read again at their next change.
    () => undefined,
  );
  reading = own;
  return own;
}

/** Clears the labels at sign-out: the next user of this browser may be another person. */
export function forgetLabels(): void {
  reading = null;
  labels.set({ names: [] });
}

export function noticeLabels(messages: readonly { labels: readonly string[] }[]): void {
  const { names } = labels.get();
  if (names.length >= LABELS_MAX) return;
  if (messages.some((message) => toShownLabels(message.labels).some((label) => !names.includes(label))))
    void refreshLabels();
}
