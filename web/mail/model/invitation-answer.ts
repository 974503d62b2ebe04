/** Builds the answer to an invitation, as calendars read it (RFC 5546 §3.2.3). Pure. */

export const ANSWERS = ['accepted', 'tentative', 'declined'] as const;
export type Answer = (typeof ANSWERS)[number];

/** File name of the answer. It tells a later reader of the mail which answer was given. */
export const answerFileName = (answer: Answer): string => `${answer}.ics`;
export const findAnswer = (fileName: string): Answer | null =>
  ANSWERS.find((answer) => answerFileName(answer) === fileName) ?? null;

/** Folds a line (RFC 5545 §3.1): at most 75 octets; a line that begins with a space continues the line before. */
const unfold = (text: string): string[] =>
  text
    .replaceAll(/\r?\n[ \t]/g, '')
    .split(/\r?\n/)
    .filter(Boolean);

function fold(line: string): string {
  let result = '';
  let octets = 0;
  for (const char of line) {
    const size = new TextEncoder().encode(char).length;
    if (octets + size > 75) {
      result += '\r\n ';
      octets = 1;
    }
    result += char;
    octets += size;
  }
  return result;
}

/** Finds the calendar components of this name, each from its BEGIN line to its END line. */
function findComponents(lines: readonly string[], name: string): string[][] {
  const found: string[][] = [];
  let start = -1;
  for (const [at, line] of lines.entries()) {
    if (line.toUpperCase() === `BEGIN:${name}`) start = at;
    if (line.toUpperCase() !== `END:${name}` || start === -1) continue;
    found.push(lines.slice(start, at + 1));
    start = -1;
  }
  return found;
}

const nameOf = (line: string): string => (/^[\w-]+/.exec(line)?.[0] ?? '').toUpperCase();

/** Properties of the event that its organizer compares. They are returned unchanged. */
const RETURNED: ReadonlySet<string> = new Set([
  'UID',
  'SEQUENCE',
  'RECURRENCE-ID',
  'ORGANIZER',
  'DTSTART',
  'DTEND',
  'SUMMARY',
]);

/**
 * Makes the calendar file of an answer.
 * @param calendar the file of the invitation.
 * @param email the address that was invited.
 * @returns null if the file has no event.
 */
export function writeAnswer(calendar: string, email: string, answer: Answer, now: Date): string | null {
  const lines = unfold(calendar);
  const events = findComponents(lines, 'VEVENT');
  // Prefer the event itself to changes of single dates (RECURRENCE-ID), as the server does.
  const event = events.find((one) => !one.some((line) => nameOf(line) === 'RECURRENCE-ID')) ?? events[0];
  if (!event) return null;
  // Stop at the first inner component, such as an alarm: its properties have the same names as those of the event.
  const inner = event.findIndex((line, at) => at > 0 && nameOf(line) === 'BEGIN');
  const members = inner === -1 ? event : event.slice(0, inner);
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Tessera//Mail//EN',
    'METHOD:REPLY',
    ...findComponents(lines, 'VTIMEZONE').flat(),
    'BEGIN:VEVENT',
    ...members.filter((line) => RETURNED.has(nameOf(line))),
    `DTSTAMP:${now.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`,
    `ATTENDEE;PARTSTAT=${answer.toUpperCase()}:mailto:${email}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ]
    .map((line) => `${fold(line)}\r\n`)
    .join('');
}
