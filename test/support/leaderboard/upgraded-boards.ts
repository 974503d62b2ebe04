/** Boards on a server that is upgraded: posts to them, and every kind of read. */
import { expect } from 'vitest';
import type { UpgradedServer } from '../versions/upgraded-server.ts';

export interface Post {
  readonly user_id: string;
  readonly user_name?: string;
  readonly points: number;
  readonly event_id?: string;
}

interface Entry {
  readonly rank: number;
  readonly user_id: string;
  readonly user_name: string;
  readonly score: number;
}

const toEntry = ({ rank, user_id, user_name, score }: Entry): Entry => ({ rank, user_id, user_name, score });
const BATCH = 1_000;
/** Every so many players, one is read alone. */
const SAMPLE = 97;

export class UpgradedBoard {
  readonly #server: UpgradedServer;
  readonly #prefix: string;
  readonly #token: string;

  /** @param board name of the board. @param token a token that may post */
  constructor(server: UpgradedServer, board: string, token: string) {
    this.#server = server;
    this.#token = token;
    this.#prefix = board === 'default' ? '/v1' : `/v1/boards/${board}`;
  }

  call(method: string, path: string, body?: object) {
    return this.#server.call(method, this.#prefix + path, body);
  }

  async #get(path: string) {
    const { status, body } = await this.call('GET', path);
    expect(status, `${path}: ${JSON.stringify(body)}`).toBe(200);
    return body;
  }

  postOne(post: Post) {
    return this.#server.call('POST', `${this.#prefix}/scores`, post, this.#token);
  }

  /** Posts, and expects each to have the result. @returns the scores, in order */
  async post(posts: readonly Post[], { isDuplicate = false } = {}): Promise<number[]> {
    const scores: number[] = [];
    for (let at = 0; at < posts.length; at += BATCH) {
      const updates = posts.slice(at, at + BATCH);
      const { status, body } = await this.#server.call(
        'POST',
        `${this.#prefix}/scores/batch`,
        { updates },
        this.#token,
      );
      expect(status, JSON.stringify(body).slice(0, 500)).toBe(200);
      for (const result of body.results) {
        expect(result, JSON.stringify(result)).toMatchObject({ duplicate: isDuplicate });
        scores.push(result.user_info.score);
      }
    }
    return scores;
  }

  /** Reads the list to its end. @param season label of the season */
  async list(season: string): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await this.#get(
        `/scores?season=${season}&exact=1&limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      entries.push(...page.data.map(toEntry));
      cursor = page.next_cursor;
    }
    return entries;
  }

  /** Makes every kind of read of a season. @returns the answers, without their times */
  async read(season: string) {
    const list = await this.list(season);
    const chosen = list.filter((_, i) => i % SAMPLE === 0).map(({ user_id }) => user_id);
    const query = `season=${season}`;
    const players = [];
    for (const userId of chosen) {
      const { user_info } = await this.#get(`/scores/${userId}?${query}&exact=1`);
      const { data } = await this.#get(`/scores/${userId}/neighbors?${query}&radius=3`);
      players.push({ ...toEntry(user_info), players: user_info.players, around: data.map(toEntry) });
    }
    const ids = chosen.slice(0, 50).join();
    const some = await this.#get(`/scores?${query}&exact=1&user_ids=${ids}&among=1`);
    const from = await this.#get(
      `/scores?${query}&exact=1&from_rank=${Math.max(1, Math.ceil(list.length / 2))}&limit=20`,
    );
    const { data: ranges } = await this.#get(`/seasons/${season}/distribution?limit=20`);
    const csv = await this.call('GET', `/seasons/${season}/export`);
    return { list, players, some: some.data.map(toEntry), from: from.data.map(toEntry), ranges, csv: csv.body };
  }
}
