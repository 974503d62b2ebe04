/** `/_/leaderboard`: the live board, a player with neighbours, past seasons, the distribution of scores. */
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { formatDateTime, formatNumber } from '../shared/format.ts';
import { go, toHash, useRoute } from '../shared/hash-route.ts';
import { mount, Rail } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { showError } from '../shared/toasts.tsx';
import { describeSeason, loadSeasons, loadTop, type Season, type TopList } from './api.ts';
import { Distribution } from './distribution.tsx';
import './leaderboard.css';
import { live, watchTop } from './live.ts';
import { Player, usePlayer } from './player.tsx';
import { Standings } from './standings.tsx';

/** Shortest interval between reads of the player panel or the chart. */
const PLAYER_REFRESH_MS = 1000;
const CHART_REFRESH_MS = 5_000;
/** Interval at which data below the top list is read. */
const TICK_MS = 4_000;

/** Counter that increases after `value` has changed, at most once per `everyMs`. */
function useThrottled(value: unknown, everyMs: number): number {
  const [count, setCount] = useState(0);
  const last = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new `value` starts the timer
  useEffect(() => {
    const waitMs = Math.max(0, last.current + everyMs - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setCount((now) => now + 1);
    }, waitMs);
    return () => clearTimeout(timer);
  }, [value, everyMs]);
  return count;
}

/** Counter that increases while the page is visible. */
function useTick(isLive: boolean): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTick((now) => now + 1);
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  return tick;
}

/** The board of a season: the live one, or pages of a past one. */
function useBoard(season: string | null) {
  const current = useStore(live, (state) => state.top);
  const [past, setPast] = useState<TopList | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [more, setMore] = useState<TopList['data']>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  useEffect(() => {
    setMore([]);
    setCursor(null);
    setPast(null);
    setError(null);
    if (season === null) return watchTop();
    let isCurrent = true;
    loadTop({ season, limit: 50 }).then(
      (top) => {
        if (!isCurrent) return;
        setPast(top);
        setCursor(top.next_cursor ?? null);
      },
      (cause: unknown) => isCurrent && setError(describeError(cause)),
    );
    return () => {
      isCurrent = false;
    };
  }, [season]);
  const loadMore = () => {
    if (cursor === null) return;
    loadTop({ season, cursor, limit: 100 }).then((page) => {
      setMore((rows) => [...rows, ...page.data]);
      setCursor(page.next_cursor ?? null);
    }, showError);
  };
  const top = season === null ? current : past;
  return { top, rows: more.length > 0 && top ? [...top.data, ...more] : (top?.data ?? []), error, cursor, loadMore };
}

function LiveBadge() {
  const status = useStore(live, (state) => state.status);
  const text = { connecting: 'Connecting …', live: 'Live', away: 'Away, trying again' }[status];
  return (
    <span className={status === 'live' ? 'badge good live' : 'badge warn'} role="status">
      {text}
    </span>
  );
}

function FindPlayer({ onFind }: { onFind: (userId: string) => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const userId = String(new FormData(event.currentTarget).get('user_id') ?? '').trim();
    if (userId) onFind(userId);
  };
  return (
    <search>
      <form className="row" onSubmit={submit}>
        <input
          name="user_id"
          type="search"
          aria-label="Find a player by id"
          placeholder="Find a player by id"
          maxLength={64}
        />
        <button type="submit">Find</button>
      </form>
    </search>
  );
}

function EmbedHint() {
  const code = `<iframe src="${location.origin}/_/embed/leaderboard" width="320" height="460" title="Leaderboard"></iframe>`;
  return (
    <details className="small">
      <summary>Put this board on your own page</summary>
      <pre className="embed-code">{code}</pre>
    </details>
  );
}

function LeaderboardPage() {
  const { query } = useRoute();
  const season = query.get('season');
  const playerId = query.get('player');
  const [seasons, setSeasons] = useState<Season[]>([]);
  const { top, rows, error, cursor, loadMore } = useBoard(season);
  // Most players are far below the top list. Their changes are not pushed, so read them at intervals.
  const tick = useTick(season === null);
  const playerRefresh = useThrottled(`${top?.as_of} ${tick}`, PLAYER_REFRESH_MS);
  const chartRefresh = useThrottled(`${top?.as_of} ${tick}`, CHART_REFRESH_MS);
  const player = usePlayer(playerId, season, playerRefresh);
  const visit = (next: { season?: string | null; player?: string | null }) => {
    const target = { season, player: playerId, ...next };
    go(toHash([], { season: target.season ?? undefined, player: target.player ?? undefined }));
  };
  useEffect(() => {
    loadSeasons().then(setSeasons, () => setSeasons([]));
  }, []);
  const shown = top?.season ?? season;
  return (
    <>
      <Rail current="leaderboard" />
      <main id="main" className="page leaderboard">
        <header className="board-head">
          <div className="grow">
            <h1>{shown ? describeSeason(shown) : 'Leaderboard'}</h1>
            <p className="muted">
              {top ? formatNumber(top.players, 'player') : ' '}
              {season !== null && ' · final standings'}
            </p>
          </div>
          {season === null && <LiveBadge />}
          <label className="season">
            <span className="visually-hidden">Season</span>
            <select value={season ?? ''} onChange={(event) => visit({ season: event.target.value || null })}>
              <option value="">This month</option>
              {seasons
                .filter((one) => one.state !== 'current')
                .map((one) => (
                  <option key={one.season} value={one.season}>
                    {describeSeason(one.season)}
                  </option>
                ))}
              {season && !seasons.some((one) => one.season === season) && <option value={season}>{season}</option>}
            </select>
          </label>
        </header>
        <div className="columns">
          <div className="stack-large">
            <section className="card board" aria-label="Top list">
              {error && <p className="error-box">{error}</p>}
              {top && rows.length === 0 && (
                <p className="muted empty">Nobody has scored yet. The board fills as soon as a game server posts.</p>
              )}
              {rows.length > 0 && (
                <Standings
                  rows={rows}
                  caption="Top list"
                  here={playerId}
                  onPick={(userId) => visit({ player: userId })}
                />
              )}
              {cursor !== null && (
                <button type="button" className="quiet" onClick={loadMore}>
                  Show more
                </button>
              )}
              {top && season === null && <p className="muted small as-of">as of {formatDateTime(top.as_of)}</p>}
            </section>
            {shown && (
              <Distribution
                season={shown}
                here={player.loaded?.info.score ?? null}
                hereName={player.loaded?.info.user_name || (player.loaded?.info.user_id ?? '')}
                refresh={chartRefresh}
              />
            )}
          </div>
          <aside className="stack-large side">
            <FindPlayer onFind={(userId) => visit({ player: userId })} />
            <Player
              {...player}
              onPick={(userId) => visit({ player: userId })}
              onClear={() => visit({ player: null })}
            />
            <EmbedHint />
          </aside>
        </div>
      </main>
    </>
  );
}

mount(<LeaderboardPage />);
