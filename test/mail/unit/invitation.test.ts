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

/** A VTIMEZONE component as Outlook writes it. */
const BERLIN = [
  ...['BEGIN:VTIMEZONE', 'TZID:W. Europe Standard Time'],
  ...['BEGIN:STANDARD', 'DTSTART:16010101T030000', 'TZOFFSETFROM:+0200', 'TZOFFSETTO:+0100'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10', 'END:STANDARD'],
  ...['BEGIN:DAYLIGHT', 'DTSTART:16010101T020000', 'TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3', 'END:DAYLIGHT', 'END:VTIMEZONE'],
];
const SYDNEY = [
  ...['BEGIN:VTIMEZONE', 'TZID:AUS Eastern Standard Time'],
  ...['BEGIN:STANDARD', 'DTSTART:16010101T030000', 'TZOFFSETTO:+1000'],
  ...['RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=4', 'END:STANDARD'],
  ...['BEGIN:DAYLIGHT', 'DTSTART:16010101T020000', 'TZOFFSETTO:+1100'],
  ...['RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=10', 'END:DAYLIGHT', 'END:VTIMEZONE'],
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
    ['DTSTART;TZID=AUS Eastern Standard Time:20260101T110000', SYDNEY, '2026-01-01T00:00:00.000Z'],
    ['DTSTART;TZID=AUS Eastern Standard Time:20260701T110000', SYDNEY, '2026-07-01T01:00:00.000Z'],
    ['DTSTART;TZID=America/New_York:20260308T033000', [], '2026-03-08T07:30:00.000Z'],
    ['DTSTART;TZID=Europe/Berlin:20261025T013000', [], '2026-10-24T23:30:00.000Z'],
    ['DTSTART:20261105T093059Z', [], '2026-11-05T09:30:59.000Z'],
    ['DTSTART:20261301T000000Z', [], '2027-01-01T00:00:00.000Z'],
    ['DTSTART;TZID=Nowhere:20261101T033000', NEW_YORK, null],
    ['DTSTART:20261101T033000', [], null],
  ])('gives the time %s in UTC', (line, zone, utc) => {
    expect(start(line, ...zone)?.[2]).toBe(utc);
  });

  it.each([
    // Dates of the cases: 1 November 2026 is a Sunday, 1 October a Thursday, 31 October a Saturday.
    ['BYDAY=1SU;BYMONTH=11', '20261031T235900', '20261101T000000'],
    ['BYDAY=2SU;BYMONTH=11', '20261107T235900', '20261108T000000'],
    ['BYDAY=1SA;BYMONTH=11', '20261106T235900', '20261107T000000'],
    ['BYDAY=1MO;BYMONTH=11', '20261101T235900', '20261102T000000'],
    ['BYDAY=+4TH;BYMONTH=10', '20261021T235900', '20261022T000000'],
    ['BYDAY=-1SA;BYMONTH=10', '20261030T235900', '20261031T000000'],
    ['BYDAY=-1SU;BYMONTH=10', '20261024T235900', '20261025T000000'],
    ['BYDAY=-1FR;BYMONTH=10', '20261029T235900', '20261030T000000'],
    ['BYDAY=-2SU;BYMONTH=10', '20261017T235900', '20261018T000000'],
    ['BYDAY=1TH;BYMONTH=1', '20251231T235900', '20260101T000000'],
    ['BYDAY=-1TH;BYMONTH=12', '20261230T235900', '20261231T000000'],
  ])('follows the rule %s of its time zone', (rule, before, after) => {
    const other = rule.endsWith('=1') || rule.endsWith('=12') ? 'BYDAY=1MO;BYMONTH=6' : 'BYDAY=1MO;BYMONTH=3';
    const zone = [
      ...['BEGIN:VTIMEZONE', 'TZID:Odd', 'BEGIN:STANDARD', 'DTSTART:19700101T000000', 'TZOFFSETTO:-004430'],
      ...[`RRULE:FREQ=YEARLY;${rule}`, 'END:STANDARD'],
      ...['BEGIN:DAYLIGHT', 'DTSTART:19700101T000000', 'TZOFFSETTO:+0530', `RRULE:FREQ=YEARLY;${other}`],
      ...['END:DAYLIGHT', 'END:VTIMEZONE'],
    ];
    const offset = (local: string) => {
      const [text = '', , utc] = start(`DTSTART;TZID=Odd:${local}`, ...zone) ?? [];
      return (Date.parse(`${text}Z`) - Date.parse(utc ?? '')) / 1_000;
    };
    expect([offset(before), offset(after)]).toEqual([5.5 * 3_600, -(44 * 60 + 30)]);
  });

  it('follows a time zone from its first rule on, and has no time in a zone without offsets', () => {
    const zone = (...lines: string[]) => ['BEGIN:VTIMEZONE', 'TZID:Odd', ...lines, 'END:VTIMEZONE'];
    const part = (first: string, offset: string, ...more: string[]) => [
      ...['BEGIN:STANDARD', `DTSTART:${first}`, `TZOFFSETTO:${offset}`, ...more, 'END:STANDARD'],
    ];
    const hourOf = (local: string, ...lines: string[]) => {
      const utc = start(`DTSTART;TZID=Odd:${local}`, ...zone(...lines))?.[2];
      return utc?.slice(11, 16) ?? null;
    };
    const [old, fresh] = [part('20000101T000000', '+0100'), part('20260601T000000', '+0300')];
    expect(hourOf('19990101T120000', ...fresh, ...old)).toBe('11:00');
    expect(hourOf('20260531T235900', ...fresh, ...old)).toBe('22:59');
    expect(hourOf('20260601T000000', ...fresh, ...old)).toBe('21:00');
    expect(hourOf('20270201T120000', ...fresh, ...old)).toBe('09:00');
    expect(hourOf('20270201T120000', ...part('20261201T000000', 'soon'), ...old)).toBe('11:00');
    // A recurrence rule applies from its first date on. A rule with a month that does not exist is ignored.
    const late = part('20260601T000000', '+0300', 'RRULE:FREQ=YEARLY;BYDAY=1MO;BYMONTH=1');
    expect(hourOf('20260301T120000', ...late, ...old)).toBe('11:00');
    expect(hourOf('20270101T120000', ...late, ...old)).toBe('09:00');
    for (const month of [0, 13]) {
      const none = part('20260601T000000', '+0300', `RRULE:FREQ=YEARLY;BYDAY=1MO;BYMONTH=${month}`);
      expect(hourOf('20260531T120000', ...none, ...old), String(month)).toBe('11:00');
      expect(hourOf('20260601T120000', ...none, ...old), String(month)).toBe('09:00');
      const ever = part('20000101T000000', '+0100', `RRULE:FREQ=YEARLY;BYDAY=1MO;BYMONTH=${month}`);
      expect(hourOf('20270201T120000', ...fresh, ...ever), String(month)).toBe('09:00');
    }
    const december = part('20000101T000000', '+0300', 'RRULE:FREQ=YEARLY;BYDAY=1TU;BYMONTH=12');
    expect(hourOf('20261130T120000', ...december, ...part('20260101T000000', '+0100'))).toBe('11:00');
    expect(hourOf('20261201T120000', ...december, ...part('20260101T000000', '+0100'))).toBe('09:00');
    expect(hourOf('20260101T120000')).toBeNull();
    expect(hourOf('20260101T120000', ...part('20000101T000000', 'soon'))).toBeNull();
    expect(hourOf('20260101T120000', ...part('soon', '+0100'))).toBeNull();
  });

  it('may last whole days, or have a length', () => {
    expect(start('DTSTART;VALUE=DATE:20261224')).toEqual(['2026-12-24', null, null]);
    const days = readInvitation(event('DTSTART;VALUE=DATE:20261231', 'DURATION:P2D'));
    expect([days?.isAllDay, days?.end?.local]).toEqual([true, '2027-01-02']);
    for (const [duration, end] of [
      ['PT45M', '2026-11-05T10:15:00'],
      ['P1W', '2026-11-12T09:30:00'],
      ['P1DT2H', '2026-11-06T11:30:00'],
      ['+P2W1DT1H1M1S', '2026-11-20T10:31:01'],
      ['-PT5M', undefined],
      ['soon', undefined],
    ])
      expect(read(`DURATION:${duration}`)?.end?.local, duration).toBe(end);
    expect(read('DURATION:PT90S')?.end?.at).toBe(Date.UTC(2026, 10, 5, 9, 31, 30));
    expect(days?.end?.at).toBeNull();
    const odd = readInvitation(event('DTSTART;VALUE=DATE:20261399', 'DURATION:P1D'));
    expect([odd?.start.local, odd?.end?.local]).toEqual(['2027-04-09', '2027-04-10']);
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

  it('has texts, people and lines up to a limit', () => {
    const long = 'x'.repeat(30_000);
    const read1 = read(
      ...[`SUMMARY:${long}`, `LOCATION:${long}`, `UID:${long}`, `DESCRIPTION:${long}`, `STATUS:${long}`],
      ...[`ORGANIZER;CN=${long}:mailto:${long}`, 'SEQUENCE:1234567890'],
      ...Array.from({ length: 510 }, () => `ATTENDEE;PARTSTAT=${long.slice(0, 100)}:mailto:a@x.test`),
    );
    expect([read1?.summary, read1?.location, read1?.uid].map((text) => text?.length)).toEqual([1_000, 1_000, 1_000]);
    expect([read1?.description.length, read1?.status?.length, read1?.sequence]).toEqual([20_000, 50, 0]);
    expect([read1?.organizer?.name.length, read1?.organizer?.email.length]).toEqual([1_000, 320]);
    expect([read1?.attendees.length, read1?.attendees[0]?.response.length]).toEqual([500, 50]);
    const lines = (count: number) =>
      readInvitation(event(...Array.from({ length: count }, () => 'X-A:1'), 'DTSTART:20261105T093000Z'));
    // The limit is 20,000 lines. Four lines come before these and DTSTART after them.
    expect([lines(19_995)?.uid, lines(19_996)]).toEqual(['', null]);
  });

  it('names people without a mail address by their parameter', () => {
    const organizer = (line: string) => read(line)?.organizer;
    expect(organizer('ORGANIZER;EMAIL=ada@x.test:urn:uuid:1')).toEqual({ name: '', email: 'ada@x.test' });
    expect(organizer('ORGANIZER;CN=Ada:urn:uuid:1')).toEqual({ name: 'Ada', email: '' });
    expect(read()?.organizer).toBeNull();
    expect([read('SEQUENCE:7')?.sequence, read('SEQUENCE:x')?.sequence, read()?.sequence]).toEqual([7, 0, 0]);
  });

  it('is found in components up to five deep', () => {
    const nested = (depth: number) =>
      read(
        ...Array.from({ length: depth }, () => 'BEGIN:VALARM'),
        'SUMMARY:inner',
        ...Array.from({ length: depth }, () => 'END:VALARM'),
        'SUMMARY:outer',
      )?.summary;
    // Up to five components may be nested. The calendar and the event are the first two.
    expect([nested(0), nested(1), nested(3)]).toEqual(['inner', 'outer', 'outer']);
    // A component that is nested too deeply is not opened, so its END line closes its parent.
    expect(nested(4)).toBe('outer');
  });

  it('skips lines that are not properties, and ends of other components', () => {
    const summaryOf = (...lines: string[]) => read(...lines, 'SUMMARY:x')?.summary;
    for (const line of [
      ':SUMMARY',
      'SUMMARY',
      'SUMMARY;X',
      'SUMMARY;X=1',
      'SUMMARY X:y',
      '',
      'END:VTODO',
      'END:VALARM',
    ])
      expect([line, summaryOf(line)]).toEqual([line, 'x']);
    expect(readInvitation(`BEGIN:VEVENT\r\nEND:VEVENT\r\n${event('DTSTART:20261105T093000Z')}`)?.uid).toBe('');
    // Only a component inside VTIMEZONE may set the rules of a time zone.
    const other = BERLIN.map((line) => line.replace('VTIMEZONE', 'VTODO'));
    expect(start('DTSTART;TZID=W. Europe Standard Time:20260705T103000', ...other)?.[2]).toBeNull();
  });

  it('is that of the first calendar of a text', () => {
    const two = event('DTSTART:20261105T093000Z', 'SUMMARY:one') + event('DTSTART:20261105T093000Z', 'SUMMARY:two');
    expect(readInvitation(two)?.summary).toBe('one');
    const cut = event('DTSTART:20261105T093000Z', 'SUMMARY:one').replace('END:VEVENT\r\n', '');
    expect(readInvitation(`${cut}METHOD:CANCEL\r\n`)?.method).toBe('request');
  });
});
