import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createBoard,
  DEFAULT,
  midPeriod,
  NAMED,
  rankOf,
  scoreAfter,
  type TestBoard,
} from '../../support/leaderboard/boards.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

const SENDERS_PER_BOARD = 4;

interface Win {
  readonly user_id: string;
  readonly points: number;
  readonly event_id: string;
}

/** All events that were sent to a board, in the order of each player, with the score that acknowledged them. */
class Sent {
  readonly board: TestBoard;
  readonly wins: (Win & { acknowledged: number | null })[] = [];

  constructor(board: TestBoard) {
    this.board = board;
  }

  get acknowledged() {
    return this.wins.filter((win) => win.acknowledged !== null);
  }

  /**
   * Computes the expected scores.
   * @param late events that counted only on their retry, after all others.
   * @returns the score of each player.
   */
  expected(late: ReadonlySet<string>): Map<string, number> {
    const scores = new Map<string, number>();
    const first = this.wins.filter(({ event_id }) => !late.has(event_id));
    for (const { user_id, points } of [...first, ...this.wins.filter((win) => !first.includes(win))])
      scores.set(user_id, scoreAfter(this.board, scores.get(user_id) ?? null, points));
    return scores;
  }
}

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ vars: midPeriod() });
});
afterAll(() => server[Symbol.asyncDispose]());

it('a server that is killed under load loses no acknowledged update of any board and counts none twice', async () => {
  const random = createRandom(announceSeed());
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const token = body.token;
  const boards = [new Sent(DEFAULT)];
  for (const kind of NAMED) boards.push(new Sent(await createBoard(server, kind)));

  async function sendAgain({ board: { base } }: Sent, wins: readonly Win[]) {
    const results: { duplicate: boolean; user_info: { score: number } }[] = [];
    for (let at = 0; at < wins.length; at += 500) {
      const updates = wins.slice(at, at + 500).map(({ user_id, points, event_id }) => ({ user_id, points, event_id }));
      results.push(...(await server.call('POST', `${base}/scores/batch`, { updates }, token)).body.results);
    }
    return results;
  }

  const count = () => Math.min(...boards.map(({ acknowledged }) => acknowledged.length));
  for (let life = 0; life < 3; life++) {
    let isAlive = true;
    const senders = Array.from({ length: SENDERS_PER_BOARD * boards.length }, async (_, sender) => {
      const { board, wins } = boards[sender % boards.length] as Sent;
      for (let n = 0; isAlive; n++) {
        // On boards that keep the last score, each player's posts come from one sender, because the order of two senders is
        // unknown.
        const number = Math.floor(random() * 24);
        const user_id = board.operator === 'last' ? `p${sender}-${number % 6}` : `p${number}`;
        const win = { user_id, points: 1 + Math.floor(random() * 9), event_id: `${life}-${sender}-${n}` };
        const sent = { ...win, acknowledged: null };
        wins.push(sent);
        try {
          const answer = await server.call('POST', `${board.base}/scores`, win, token);
          if (answer.status === 200) Object.assign(sent, { acknowledged: answer.body.user_info.score });
        } catch {
          return;
        }
      }
    });
    const enough = (20 + random() * 30) * (life + 1);
    while (count() < enough) await new Promise((resolve) => setTimeout(resolve, 10));
    await server.kill9();
    isAlive = false;
    await Promise.all(senders);
    await server.start();
    for (const sent of boards) {
      const { acknowledged } = sent;
      const again = await sendAgain(sent, acknowledged);
      expect(again.map(({ duplicate, user_info }) => [duplicate, user_info.score])).toEqual(
        acknowledged.map((win) => [true, win.acknowledged]),
      );
    }
  }

  // Repeat unanswered updates. Each may or may not have counted; after the retry it must have counted exactly once.
  for (const sent of boards) {
    const { board, wins } = sent;
    const again = await sendAgain(sent, wins);
    const late = new Set(wins.filter((_, i) => !again[i]?.duplicate).map(({ event_id }) => event_id));
    expect(wins.filter(({ acknowledged, event_id }) => acknowledged !== null && late.has(event_id))).toEqual([]);
    const expected = sent.expected(late);
    const path = `${board.base}/scores?exact=1&user_ids=${[...expected.keys()].join(',')}`;
    const { body: list } = await server.call('GET', path, undefined, null);
    const found = list.data.map(({ user_id, score, rank }: { user_id: string; score: number; rank: number }) => [
      user_id,
      { score, rank },
    ]);
    expect(new Map(found)).toEqual(
      new Map([...expected].map(([id, score]) => [id, { score, rank: rankOf(board, score, expected.values()) }])),
    );
  }
});
