import { describe, expect, it } from 'vitest';
import { listSnoozeTimes } from '../../../web/mail/actions/snooze-times.ts';
import { answerFileName, findAnswer, writeAnswer } from '../../../web/mail/model/invitation-answer.ts';

const NOW = new Date('2026-11-22T10:00:00Z');

describe('the times of snoozing', () => {
  const offered = (now: Date) => listSnoozeTimes(now).map(({ name, at }) => [name, at.getDate(), at.getHours()]);

  it('lie ahead in their order', () => {
    // 25 November 2026, a Wednesday.
    expect(offered(new Date(2026, 10, 25, 9))).toEqual([
      ['today', 25, 18],
      ['tomorrow', 26, 8],
      ['weekend', 28, 8],
      ['week', 30, 8],
    ]);
  });

  it('omit times less than an hour away, and repeated days', () => {
    // On Friday and on Sunday evening, "weekend" and "next week" are tomorrow, so they are not offered as well.
    expect(offered(new Date(2026, 10, 27, 17, 30))).toEqual([
      ['tomorrow', 28, 8],
      ['week', 30, 8],
    ]);
    expect(offered(new Date(2026, 10, 29, 20)).map(([name]) => name)).toEqual(['tomorrow', 'weekend']);
  });
});

describe('the answer to an invitation', () => {
  const calendar = (...event: string[]) =>
    ['BEGIN:VCALENDAR', 'METHOD:REQUEST', ...event, 'END:VCALENDAR', ''].join('\r\n');
  const event = (...lines: string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'];
  const answer = (text: string) => writeAnswer(text, 'ann@example.test', 'declined', NOW);

  it('returns the members that name the event, and the attendee alone', () => {
    const text = calendar(
      'BEGIN:VTIMEZONE',
      'TZID:Europe/Berlin',
      'END:VTIMEZONE',
      ...event(
        'UID:one@outside.test',
        'SEQUENCE:3',
        'DTSTART;TZID=Europe/Berlin:20261105T103000',
        'DESCRIPTION:private',
        'ATTENDEE:mailto:dan@outside.test',
        'BEGIN:VALARM',
        'SUMMARY:Alarm',
        'END:VALARM',
      ),
    );
    expect(answer(text)?.split('\r\n')).toEqual([
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//Tessera//Mail//EN',
      'METHOD:REPLY',
      'BEGIN:VTIMEZONE',
      'TZID:Europe/Berlin',
      'END:VTIMEZONE',
      'BEGIN:VEVENT',
      'UID:one@outside.test',
      'SEQUENCE:3',
      'DTSTART;TZID=Europe/Berlin:20261105T103000',
      'DTSTAMP:20261122T100000Z',
      'ATTENDEE;PARTSTAT=DECLINED:mailto:ann@example.test',
      'END:VEVENT',
      'END:VCALENDAR',
      '',
    ]);
  });

  it('is for the whole series if the file has it, else for the one date that changed', () => {
    const change = event('UID:s', 'RECURRENCE-ID:20261112T103000Z');
    expect(answer(calendar(...change, ...event('UID:s', 'RRULE:FREQ=WEEKLY')))).not.toContain('RECURRENCE-ID');
    expect(answer(calendar(...change))).toContain('RECURRENCE-ID:20261112T103000Z');
  });

  it('folds lines after 75 octets and no character, and unfolds those of the invitation', () => {
    const title = 'ü'.repeat(60);
    const text = answer(calendar(...event('UID:a', `SUMMARY:${title.slice(0, 30)}`, ` ${title.slice(30)}`)));
    expect(text?.replaceAll('\r\n ', '')).toContain(`SUMMARY:${title}\r\n`);
    for (const line of (text ?? '').split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  });

  it('is null without an event, and is known by the name of its file', () => {
    expect(answer(calendar())).toBe(null);
    expect(findAnswer(answerFileName('tentative'))).toBe('tentative');
    expect(findAnswer('invite.ics')).toBe(null);
  });
});
