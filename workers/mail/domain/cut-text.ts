/** Text of a message whose HTML is too long to be shown: its beginning, and a last line that says so. Pure. */

/** Maximum of characters of such a text without its last line. */
const SHOWN_LENGTH_MAX = 900_000;
const NOTE = '[This message is too long to be shown whole. Its original form can be downloaded.]';

export const cutText = (text: string): string =>
  `${text.slice(0, SHOWN_LENGTH_MAX).trimEnd().toWellFormed()}\n\n${NOTE}`.trimStart();

/** Whether a text is the result of `cutText`. A sender may write the line too; then the message only has the notice. */
export const isCutText = (text: string): boolean => text.endsWith(NOTE);
