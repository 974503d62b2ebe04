// @ts-check
/**
 * Client of a leaderboard of Tessera, for game servers and web pages: Node 22 or later, browsers, Deno, Bun. It has no dependencies.
 *
 * Every post has an event id, so a post that is sent again counts once. Only game servers have a token. A page reads and follows.
 */

/** @typedef {import('./api.generated.ts').BoardScoreUpdate} ScoreUpdate */
/** @typedef {import('./api.generated.ts').ScoredPlayer} ScoredPlayer */
/** @typedef {import('./api.generated.ts').Leaderboard} List */
/** @typedef {import('./api.generated.ts').LeaderboardEntry} Entry */
/** @typedef {import('./api.generated.ts').LeaderboardPlayer} Player */
/** @typedef {import('./api.generated.ts').LeaderboardNeighbors} Neighbors */
/** @typedef {import('./api.generated.ts').Problem} Problem */
/** @typedef {Readonly<Record<string, string | number | boolean | undefined>>} Query */
/** @typedef {{ update: ScoreUpdate, tries: number, resolve: (result: ScoredPlayer) => void, reject: (error: Error) => void }} Waiting */
/**
 * @typedef {object} Options
 * @property {string} url origin of the deployment, such as `https://scores.example.com`
 * @property {string} [board] name of the board; `default` if omitted
 * @property {string} [token] token with the scope `scores:write`, or `board:{board}:read` for a private board. Never in a page
 * @property {number} [attempts] maximum number of attempts at a request; 8 if omitted
 * @property {number} [timeoutMs] time limit of one attempt in milliseconds; 15,000 if omitted
 * @property {number} [batchMs] time for which `queue` gathers updates, in milliseconds; 50 if omitted
 */

const BATCH_UPDATES_MAX = 1_000;
const BACKOFF_MS_MIN = 250;
const BACKOFF_MS_MAX = 30_000;
/** Time after which a live connection without an answer counts as dead, in milliseconds. Half of it is the interval of pings. */
const SILENCE_MS = 30_000;
/** Statuses of requests that may succeed later. */
const RETRIED = new Set([408, 429, 500, 502, 503, 504]);

/** An answer with an error, or no answer. `code` is stable: docs/errors.md lists all. */
export class LeaderboardError extends Error {
  /** @param {Partial<Problem>} problem @param {unknown} [cause] */
  constructor(problem, cause) {
    super(problem.detail ?? problem.title ?? 'no answer', { cause });
    this.name = 'LeaderboardError';
    /** HTTP status; 0 without an answer. */
    this.status = problem.status ?? 0;
    this.code = problem.code ?? 'no_answer';
    this.problem = problem;
  }
}

/** Waiting time before an attempt, in milliseconds: at least `Retry-After`, and random, so that clients do not come back together. */
const backoff = (/** @type {number} */ tries, /** @type {number} */ leastMs) =>
  leastMs + Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** tries) * (0.5 + Math.random() / 2);

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
const wait = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    function done() {
      signal?.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    if (signal?.aborted) return stop();
    signal?.addEventListener('abort', stop, { once: true });
  });

/** The time in `Retry-After`, which is seconds or a date, in milliseconds from now. @param {Headers} headers */
function retryAfterMs(headers) {
  const value = headers.get('retry-after') ?? '';
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

/** @param {Response} response @returns {Promise<LeaderboardError>} */
async function toError(response) {
  const body = await response.json().catch(() => ({}));
  return new LeaderboardError({ ...body, status: response.status });
}

/** The secret of the player in this browser. It is made at the first play. */
function ownSecret() {
  const { localStorage } = /** @type {any} */ (globalThis);
  const secret = localStorage.getItem('tessera.player') ?? crypto.randomUUID() + crypto.randomUUID();
  localStorage.setItem('tessera.player', secret);
  return secret;
}

export class Leaderboard {
  /** @type {string} */ #base;
  /** @type {Record<string, string>} */ #headers;
  /** @type {number} */ #attempts;
  /** @type {number} */ #timeoutMs;
  /** @type {number} */ #batchMs;
  /** @type {Waiting[]} */ #waiting = [];
  /** @type {Promise<void> | null} */ #sending = null;
  /** Time before which no request is sent, because the server asked to wait. */
  #pausedUntil = 0;

  /** @param {Options} options */
  constructor({ url, board = 'default', token, attempts = 8, timeoutMs = 15_000, batchMs = 50 }) {
    const path = board === 'default' ? '/v1' : `/v1/boards/${encodeURIComponent(board)}`;
    this.#base = new URL(path, url).href;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    [this.#attempts, this.#timeoutMs, this.#batchMs] = [attempts, timeoutMs, batchMs];
  }

  /**
   * Sends a request until it is answered. @throws {LeaderboardError}
   * @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
   */
  async #send(path, body, signal) {
    const init = {
      method: body === undefined ? 'GET' : 'POST',
      headers: body === undefined ? this.#headers : { ...this.#headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    for (let tries = 0; ; tries++) {
      await wait(Math.max(0, this.#pausedUntil - Date.now()), signal);
      const limit = AbortSignal.timeout(this.#timeoutMs);
      const ended = signal === undefined ? limit : AbortSignal.any([signal, limit]);
      let error;
      let leastMs = 0;
      try {
        const response = await fetch(this.#base + path, { ...init, signal: ended });
        if (response.ok) return await response.json();
        error = await toError(response);
        leastMs = retryAfterMs(response.headers);
        if (response.status === 429) this.#pausedUntil = Date.now() + leastMs;
      } catch (cause) {
        if (signal?.aborted) throw cause;
        error = new LeaderboardError({ detail: `${this.#base} does not answer` }, cause);
      }
      const isLast = tries + 1 >= this.#attempts;
      if (isLast || !(error.status === 0 || RETRIED.has(error.status))) throw error;
      await wait(backoff(tries, leastMs), signal);
    }
  }

  /**
   * Posts one update. Needs a token. It is safe to call it again with the same `event_id`.
   * @param {ScoreUpdate} update @param {{ signal?: AbortSignal }} [options] @returns {Promise<ScoredPlayer>}
   */
  post(update, { signal } = {}) {
    return this.#send('/scores', { event_id: crypto.randomUUID(), ...update }, signal);
  }

  /**
   * Posts an update together with others, in batches of up to 1,000. Updates of one player stay in order.
   * @param {ScoreUpdate} update @returns {Promise<ScoredPlayer>}
   */
  queue(update) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ update: { event_id: crypto.randomUUID(), ...update }, tries: 0, resolve, reject });
      this.#sending ??= this.#sendBatches().finally(() => {
        this.#sending = null;
      });
    });
  }

  /** Waits until all queued updates are answered, for example before a server ends. */
  async flush() {
    while (this.#sending !== null) await this.#sending;
  }

  async #sendBatches() {
    await wait(this.#batchMs);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_UPDATES_MAX);
      try {
        const { results } = await this.#send('/scores/batch', { updates: batch.map(({ update }) => update) });
        const again = batch.filter((item, i) => !this.#settle(item, results[i]));
        if (again.length === 0) continue;
        await wait(backoff(Math.min(...again.map(({ tries }) => tries)), 1_000));
        this.#waiting.unshift(...again);
      } catch (error) {
        for (const { reject } of batch) reject(/** @type {Error} */ (error));
      }
    }
  }

  /** Answers a queued update. @param {Waiting} item @param {any} result @returns {boolean} false if it is to be sent again */
  #settle(item, result) {
    if (result?.user_info !== undefined) item.resolve(result);
    else if (RETRIED.has(result?.status) && ++item.tries < this.#attempts) return false;
    else item.reject(new LeaderboardError(result ?? {}));
    return true;
  }

  /** @param {string} path @param {Query} query @returns {Promise<any>} */
  #read(path, query) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== false);
    const text = new URLSearchParams(given.map(([name, value]) => [name, value === true ? '1' : String(value)]));
    return this.#send(text.size === 0 ? path : `${path}?${text}`);
  }

  /** The top list. @param {Query} [query] `limit`, `season`, `from_rank`, `user_ids`, `min_as_of`, … @returns {Promise<List>} */
  top(query = {}) {
    return this.#read('/scores', query);
  }

  /** All entries, best first. @param {Query} [query] @returns {AsyncGenerator<Entry>} */
  async *entries(query = {}) {
    let cursor;
    do {
      const { data, next_cursor } = await this.top({ limit: 100, ...query, cursor });
      yield* data;
      cursor = next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** A player with rank; null without a score. @param {string} userId @param {Query} [query] @returns {Promise<Player['user_info'] | null>} */
  async player(userId, query = {}) {
    try {
      return (await this.#read(`/scores/${encodeURIComponent(userId)}`, query)).user_info;
    } catch (error) {
      if (error instanceof LeaderboardError && error.code === 'unknown_player') return null;
      throw error;
    }
  }

  /** The players around a player. @param {string} userId @param {Query} [query] `radius`, `season` @returns {Promise<Neighbors>} */
  neighbors(userId, query = {}) {
    return this.#read(`/scores/${encodeURIComponent(userId)}/neighbors`, query);
  }

  /**
   * Begins a play, on a board with sessions: for pages of games without a server. The play has one result, within 24 hours.
   * @param {string} [secret] of the player, whose id it makes; by default one that this browser keeps
   */
  async beginPlay(secret = ownSecret()) {
    const { play_id, play, user_id } = await this.#send('/plays', { player_secret: secret });
    return {
      /** @type {string} */ user_id,
      /** Sends the result. It is safe to call it again. @returns {Promise<{ status: string } & Partial<ScoredPlayer>>} */
      finish: (/** @type {number} */ points, /** @type {{ user_name?: string, data?: unknown }} */ more = {}) =>
        this.#send(`/plays/${play_id}/result`, { play, player_secret: secret, points, ...more }),
    };
  }

  /**
   * Follows the top list: `onList` gets it at once, and after each change. A lost connection is opened again. Between attempts the list is
   * read, so it is shown also where WebSockets are blocked. Not for private boards.
   * @param {(list: List) => void} onList @param {{ limit?: number, onState?: (isLive: boolean) => void }} [options]
   * @returns {() => void} stops it
   */
  follow(onList, { limit = 10, onState = () => {} } = {}) {
    const address = `${this.#base.replace(/^http/, 'ws')}/scores?limit=${limit}`;
    const stop = new AbortController();
    const { signal } = stop;
    const repeat = async () => {
      for (let tries = 0; !signal.aborted; tries++) {
        const wasLive = await followOnce(address, signal, onList, () => onState(true));
        if (signal.aborted) return;
        if (wasLive || tries === 0) onState(false);
        if (wasLive) tries = 0;
        const list = tries > 0 ? await this.#send(`/scores?limit=${limit}`, undefined, signal).catch(() => null) : null;
        if (list !== null && !signal.aborted) onList(list);
        await wait(backoff(tries, 0), signal).catch(() => {});
      }
    };
    repeat();
    return () => stop.abort();
  }
}

/**
 * Receives lists until the connection ends or is silent for too long.
 * @param {string} address @param {AbortSignal} signal @param {(list: List) => void} onList @param {() => void} onOpen
 * @returns {Promise<boolean>} whether a list was received
 */
function followOnce(address, signal, onList, onOpen) {
  return new Promise((resolve) => {
    let [isLive, heardAt] = [false, Date.now()];
    const socket = new WebSocket(address);
    const beat = setInterval(() => {
      if (Date.now() - heardAt > SILENCE_MS) end();
      else if (socket.readyState === 1) socket.send('ping');
    }, SILENCE_MS / 2);
    const done = new AbortController();
    function end() {
      clearInterval(beat);
      done.abort();
      socket.close();
      resolve(isLive);
    }
    for (const name of /** @type {const} */ (['close', 'error']))
      socket.addEventListener(name, end, { signal: done.signal });
    signal.addEventListener('abort', end, { signal: done.signal });
    const onMessage = (/** @type {{ data?: unknown }} */ { data }) => {
      heardAt = Date.now();
      if (data === 'pong') return;
      if (!isLive) onOpen();
      isLive = true;
      onList(JSON.parse(String(data)));
    };
    socket.addEventListener('message', onMessage, { signal: done.signal });
  });
}
