import { describe, expect, it } from 'vitest';
import { timeLeft } from '../../../web/leaderboard/season-end.ts';
import { DAY_HEAD_PX, findDayHeads, rowAt, topOfRow } from '../../../web/mail/list/day-heads.ts';
import type { Summary } from '../../../web/mail/model/api.ts';
import { describeRow } from '../../../web/mail/model/own-replies.ts';
import { groupByThread } from '../../../web/mail/model/rows.ts';
import { toHue, toMonogram } from '../../../web/shared/avatar.tsx';
import { findCommands } from '../../../web/shared/commands.ts';

describe('monograms', () => {
  it('take the first letters of the first and the last word, or two letters of a single word, in any script', () => {
    const names = ['Ada Lovelace', 'grace@navy.test', 'Anna Maria von Ort', 'سلمى', '“Bob”', 'X', 'अमित', '', '🙂'];
    expect(names.map(toMonogram)).toEqual(['AL', 'GR', 'AO', 'سل', 'BO', 'X', 'अमि', '?', '?']);
  });
  it('differ between numbered names', () => {
    const names = ['Player 31', 'Player 32', 'player33', 'Player 7', 'Agent 007', '42'];
    expect(names.map(toMonogram)).toEqual(['P31', 'P32', 'P33', 'P7', 'A07', '42']);
  });
  it('have one colour per address, whatever its case', () => {
    expect(toHue('Ann@example.test')).toBe(toHue('ann@EXAMPLE.test'));
    const hues = new Set(Array.from({ length: 200 }, (_, n) => toHue(`user${n}@example.test`)));
    expect(hues.size).toBe(24);
  });
});

describe('the command palette', () => {
  it('finds commands that contain all words, best first', () => {
    const commands = ['Reply to all', 'Go to All', 'Archive', 'All done'].map((title) => ({
      title,
      icon: 'all' as const,
      run: () => undefined,
    }));
    expect(findCommands(commands, 'all').map(({ title }) => title)).toEqual(['All done', 'Reply to all', 'Go to All']);
    expect(findCommands(commands, 'to go').map(({ title }) => title)).toEqual(['Go to All']);
    expect(findCommands(commands, ' ')).toHaveLength(4);
  });
});

describe('day headings', () => {
  const now = new Date('2026-03-29T18:00:00');
  const dates = [
    '2026-03-29T09:00:00',
    '2026-03-28T23:59:00',
    '2026-03-28T01:00:00',
    '2026-03-24T12:00:00',
    '2026-03-02T12:00:00',
    '2025-12-31T12:00:00',
  ];

  it('begin with each new day, week and month, also over a change of the clocks', () => {
    const heads = findDayHeads(dates, 0, now);
    expect(heads.map(({ index, period }) => [index, period.kind])).toEqual([
      [0, 'today'],
      [1, 'yesterday'],
      [3, 'week'],
      [4, 'month'],
      [5, 'month'],
    ]);
  });
  it('take space above their row, and the row at a height is found again', () => {
    const heads = findDayHeads(dates, 10, now);
    for (let index = 0; index < 20; index += 1) {
      const top = topOfRow(heads, index, 70);
      expect(Math.floor(rowAt(heads, top + 1, 70)), `row ${index}`).toBe(index);
    }
    expect(topOfRow(heads, 15, 70)).toBe(15 * 70 + 5 * DAY_HEAD_PX);
  });
});

describe('a row of the list', () => {
  const message = (id: string, email: string, name: string, day: number) =>
    ({
      id,
      thread_id: 't',
      from: { email, name },
      received_at: `2026-01-0${day}T00:00:00Z`,
      labels: [],
    }) as unknown as Summary;
  const carol = message('1', 'carol@o.test', 'Carol Shaw', 1);
  const mine = message('2', 'Me@example.test', 'Ann Lee', 2);
  const describe2 = (messages: Summary[], replies: Summary[]) => {
    const [row] = groupByThread(messages);
    if (!row) throw new Error('no row');
    return describeRow(row, replies, ['me@example.test'], 'me');
  };

  it('names the user “me”, counts their replies and marks a conversation that they answered last', () => {
    expect(describe2([carol], [])).toMatchObject({ names: ['Carol Shaw'], count: 1, isAnsweredLast: false });
    expect(describe2([carol], [mine])).toMatchObject({
      names: ['Carol', 'me'],
      count: 2,
      isAnsweredLast: true,
      other: { email: 'carol@o.test' },
    });
    // A folder such as All contains the reply itself, so it must be counted once.
    expect(describe2([mine, carol], [mine]).count).toBe(2);
    const again = message('3', 'carol@o.test', 'Carol Shaw', 3);
    expect(describe2([again, carol], [mine])).toMatchObject({
      names: ['Carol', 'me'],
      count: 3,
      isAnsweredLast: false,
    });
  });
});

describe('the countdown of a season', () => {
  it('is given in days, hours and minutes, and ends with the month in UTC', () => {
    const at = (iso: string) => timeLeft('2026-11', Date.parse(iso));
    expect(at('2026-11-22T20:30:00Z')).toEqual({ days: 8, hours: 3, minutes: 30 });
    expect(at('2026-11-30T23:59:00Z')).toEqual({ days: 0, hours: 0, minutes: 1 });
    expect(at('2026-12-01T00:00:00Z')).toBeNull();
    expect(at('2026-09-01T00:00:00Z')).toBeNull();
    expect(timeLeft('2026-12', Date.parse('2026-12-31T12:00:00Z'))).toEqual({ days: 0, hours: 12, minutes: 0 });
  });
});
