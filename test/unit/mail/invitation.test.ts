import { describe, expect, it } from 'vitest';
import { readInvitation } from '../../../workers/mail/domain/invitation.ts';

const event = (...lines: string[]) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'METHOD:REQUEST',
    'BEGIN:VEVENT',
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
const read = (...lines: string[]) => readInvitation(event('DTSTART:20261105T093000Z', ...lines));
const start = (line: string, ...zone: string[]) => {
  const text = event(line).replace('BEGIN:VEVENT', [...zone, 'BEGIN:VEVENT'].join('\r\n'));
  const time = readInvitation(text)?.start;
  return time && [time.local, time.timeZone, time.at === null ? null : new Date(time.at).toISOString()];
};

/** As Outlook writes them. */
const BERLIN = [
  ...['BEGIN:VTIMEZONE', 'TZID:W. Europe Standard Time'],
  ...['BEGIN:STANDARD', 'DTSTART:16010101T030000', 'TZOFFSETFROM:+0200', 'TZOFFSETTO:+0100'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10', 'END:STANDARD'],
  ...['BEGIN:DAYLIGHT', 'DTSTART:16010101T020000', 'TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3', 'END:DAYLIGHT', 'END:VTIMEZONE'],
];
const NEW_YORK = BERLIN.map((line) =>
  line
    .replace('W. Europe Standard Time', 'Eastern Standard Time')
    .replace('T030000', 'T020000')
    .replace(/^TZOFFSETTO:\+01/, 'TZOFFSETTO:-05')
    .replace(/^TZOFFSETTO:\+02/, 'TZOFFSETTO:-04')
    .replace('BYDAY=-1SU;BYMONTH=10', 'BYDAY=1SU;BYMONTH=11')
    .replace('BYDAY=-1SU;BYMONTH=3', 'BYDAY=2SU;BYMONTH=3'),
);

describe('an invitation', () => {
  it('has its texts unfolded and unescaped, its people, and its rule', () => {
    expect(
      read(
        ...['UID:1@x.test', 'SEQUENCE:3', 'STATUS:CONFIRMED', 'RRULE:FREQ=WEEKLY;COUNT=4'],
        ...['SUMMARY;LANGUAGE=en:Plan\\, budget\\; and a very lo', ' ng', '\tword', 'LOCATION:Room "1": left'],
        ...['DESCRIPTION:One\\nTwo\\\\n', 'DTEND:20261105T103000Z'],
        ...['ORGANIZER;CN="Lovelace, Ada: boss";SENT-BY="mailto:x@y.test":MAILTO:ada@x.test'],
        ...['ATTENDEE;ROLE=OPT-PARTICIPANT;PARTSTAT=TENTATIVE;CN=Bob:mailto:bob@x.test', 'ATTENDEE:mailto:eve@x.test'],
      ),
    ).toEqual({
      ...{ method: 'request', uid: '1@x.test', sequence: 3, status: 'confirmed', recurrence: 'FREQ=WEEKLY;COUNT=4' },
      ...{ summary: 'Plan, budget; and a very longword', location: 'Room "1": left', description: 'One\nTwo\\n' },
      start: { local: '2026-11-05T09:30:00', timeZone: 'UTC', at: Date.UTC(2026, 10, 5, 9, 30) },
      end: { local: '2026-11-05T10:30:00', timeZone: 'UTC', at: Date.UTC(2026, 10, 5, 10, 30) },
      isAllDay: false,
      organizer: { name: 'Lovelace, Ada: boss', email: 'ada@x.test' },
      attendees: [
        { name: 'Bob', email: 'bob@x.test', isOptional: true, response: 'tentative' },
        { name: '', email: 'eve@x.test', isOptional: false, response: 'needs_action' },
      ],
    });
  });

  it.each([
    ['DTSTART;TZID=Europe/Berlin:20260705T103000', [], '2026-07-05T08:30:00.000Z'],
    ['DTSTART;TZID=Europe/Berlin:20261105T103000', [], '2026-11-05T09:30:00.000Z'],
    ['DTSTART;TZID=America/New_York:20261101T003000', [], '2026-11-01T04:30:00.000Z'],
    ['DTSTART;TZID=Asia/Kolkata:20260101T000000', [], '2025-12-31T18:30:00.000Z'],
    ['DTSTART;TZID="W. Europe Standard Time":20260705T103000', BERLIN, '2026-07-05T08:30:00.000Z'],
    ['DTSTART;TZID=W. Europe Standard Time:20260105T103000', BERLIN, '2026-01-05T09:30:00.000Z'],
    ['DTSTART;TZID=W. Europe Standard Time:20260329T015900', BERLIN, '2026-03-29T00:59:00.000Z'],
    ['DTSTART;TZID=W. Europe Standard Time:20260329T030000', BERLIN, '2026-03-29T01:00:00.000Z'],
    ['DTSTART;TZID=W. Europe Standard Time:20261025T033000', BERLIN, '2026-10-25T02:30:00.000Z'],
    ['DTSTART;TZID=Eastern Standard Time:20260308T033000', NEW_YORK, '2026-03-08T07:30:00.000Z'],
    ['DTSTART;TZID=Eastern Standard Time:20261101T033000', NEW_YORK, '2026-11-01T08:30:00.000Z'],
    ['DTSTART;TZID=Nowhere:20261101T033000', NEW_YORK, null],
    ['DTSTART:20261101T033000', [], null],
  ])('gives the time %s in UTC', (line, zone, utc) => {
    expect(start(line, ...zone)?.[2]).toBe(utc);
  });

  it('may last whole days, or have a length', () => {
    expect(start('DTSTART;VALUE=DATE:20261224')).toEqual(['2026-12-24', null, null]);
    const days = readInvitation(event('DTSTART;VALUE=DATE:20261231', 'DURATION:P2D'));
    expect([days?.isAllDay, days?.end?.local]).toEqual([true, '2027-01-02']);
    for (const [duration, end] of [
      ['PT45M', '2026-11-05T10:15:00'],
      ['P1W', '2026-11-12T09:30:00'],
      ['P1DT2H', '2026-11-06T11:30:00'],
      ['soon', undefined],
    ])
      expect(read(`DURATION:${duration}`)?.end?.local, duration).toBe(end);
  });

  it('is the event itself, before changes of single dates', () => {
    const text = event(
      'RECURRENCE-ID:20261105T093000Z',
      'DTSTART:20261106T093000Z',
      'SUMMARY:moved',
      'END:VEVENT',
    ).replace(
      'END:VEVENT\r\nEND:VEVENT',
      'END:VEVENT\r\nBEGIN:VEVENT\r\nDTSTART:20261105T093000Z\r\nSUMMARY:series\r\nEND:VEVENT',
    );
    expect(readInvitation(text)?.summary).toBe('series');
  });

  it('is read from calendars with slips, and never from other text', () => {
    expect(readInvitation(event('DTSTART:20261105T093000Z', 'SUMMARY:x').replaceAll('\r\n', '\n'))?.summary).toBe('x');
    expect(readInvitation('BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261105T093000Z\nSUMMARY:cut')?.summary).toBe('cut');
    expect(readInvitation(`junk\r\n${event('garbage', ';;;', 'dtstart:20261105T093000Z', 'Summary:y')}`)?.summary).toBe(
      'y',
    );
    const alarm = event(
      'BEGIN:VALARM',
      'DESCRIPTION:ring',
      'END:VALARM',
      'DTSTART:20261105T093000Z',
      'DESCRIPTION:real',
    );
    expect(readInvitation(alarm)?.description).toBe('real');
    for (const text of ['', 'hello', event(), event('DTSTART:tomorrow'), 'BEGIN:VEVENT\r\nDTSTART:20261105T093000Z'])
      expect(readInvitation(text)).toBeNull();
    expect(readInvitation('BEGIN:VCALENDAR\n'.repeat(50_000))).toBeNull();
    expect(readInvitation(event(`SUMMARY${';X="'.repeat(50_000)}`))).toBeNull();
  });
});
