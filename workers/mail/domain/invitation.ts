/** Reads an invitation to an event (RFC 5545, RFC 5546). Pure. */
import { type CalendarComponent, type CalendarProperty, findProperty, parseCalendar, toText } from './calendar.ts';
import { addDuration, type CalendarTime, readTime } from './calendar-time.ts';

export interface InvitedPerson {
  readonly name: string;
  readonly email: string;
}

export interface Invitation {
  /** Method of the calendar in lower case: `request`, `cancel`, `reply`, `publish` or another one; null if it has none. */
  readonly method: string | null;
  readonly uid: string;
  readonly sequence: number;
  /** Status of the event: `confirmed`, `tentative` or `cancelled`; null if it has none. */
  readonly status: string | null;
  readonly summary: string;
  readonly description: string;
  readonly location: string;
  readonly start: CalendarTime;
  readonly end: CalendarTime | null;
  readonly isAllDay: boolean;
  /** Recurrence rule of the event (RFC 5545 §3.3.10) as written; null if the event does not recur. */
  readonly recurrence: string | null;
  readonly organizer: InvitedPerson | null;
  readonly attendees: readonly (InvitedPerson & { readonly isOptional: boolean; readonly response: string })[];
}

const LINE_LENGTH_MAX = 1_000;
const DESCRIPTION_LENGTH_MAX = 20_000;
const ATTENDEES_MAX = 500;

/** @returns the event of an invitation; null if the text has no event with a valid start. */
export function readInvitation(text: string): Invitation | null {
  const calendar = parseCalendar(text);
  const events = calendar?.components.filter(({ name }) => name === 'VEVENT') ?? [];
  // The calendar may also have changes of single dates of a recurring event. The event itself is preferred.
  const event = events.find((each) => findProperty(each, 'RECURRENCE-ID') === null) ?? events[0];
  if (!calendar || !event) return null;
  const zones = calendar.components.filter(({ name }) => name === 'VTIMEZONE');
  const start = readTime(findProperty(event, 'DTSTART'), zones);
  if (start === null) return null;
  const organizer = findProperty(event, 'ORGANIZER');
  const attendees = event.properties.filter(({ name }) => name === 'ATTENDEE').slice(0, ATTENDEES_MAX);
  return {
    method: readWord(calendar, 'METHOD'),
    uid: readLine(event, 'UID'),
    sequence: Number(/^\d{1,9}$/.exec(readLine(event, 'SEQUENCE'))?.[0] ?? 0),
    status: readWord(event, 'STATUS'),
    summary: readLine(event, 'SUMMARY'),
    description: toText(findProperty(event, 'DESCRIPTION')).slice(0, DESCRIPTION_LENGTH_MAX),
    location: readLine(event, 'LOCATION'),
    start,
    end: readEnd(event, start, zones),
    isAllDay: start.local.length === 10,
    recurrence: readLine(event, 'RRULE') || null,
    organizer: organizer && toPerson(organizer),
    attendees: attendees.map((property) => ({
      ...toPerson(property),
      isOptional: /^(?:OPT|NON)-PARTICIPANT$/i.test(property.parameters.get('ROLE') ?? ''),
      response: (property.parameters.get('PARTSTAT') ?? 'NEEDS-ACTION').toLowerCase().replaceAll('-', '_').slice(0, 50),
    })),
  };
}

function readEnd(
  event: CalendarComponent,
  start: CalendarTime,
  zones: readonly CalendarComponent[],
): CalendarTime | null {
  const duration = findProperty(event, 'DURATION');
  return readTime(findProperty(event, 'DTEND'), zones) ?? (duration && addDuration(start, duration.value));
}

const readLine = (component: CalendarComponent, name: string): string =>
  toText(findProperty(component, name)).replace(/\s+/g, ' ').slice(0, LINE_LENGTH_MAX);

const readWord = (component: CalendarComponent, name: string): string | null =>
  readLine(component, name).toLowerCase().slice(0, 50) || null;

const toPerson = ({ value, parameters }: CalendarProperty): InvitedPerson => ({
  name: (parameters.get('CN') ?? '').slice(0, LINE_LENGTH_MAX),
  email: (/^\s*mailto:(.*)$/i.exec(value)?.[1] ?? parameters.get('EMAIL') ?? '').trim().slice(0, 320),
});
