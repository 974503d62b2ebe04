/** `/_/leaderboard`: the live board, a player with neighbours, past seasons, the distribution of scores. */
import { useEffect, useState } from 'react';
import { BoardLogo } from '../shared/board-logo.tsx';
import { formatDateTime } from '../shared/format.ts';
import { go, toHash, useRoute } from '../shared/hash-route.ts';
import { mount, Rail } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { boardTexts } from '../shared/texts/board.ts';
import {
  type Board,
  describeSeason,
  loadBoard,
  loadBoards,
  loadSeasons,
  openBoard,
  type Season,
  titleOf,
} from './api.ts';
import { Countdown } from './countdown.tsx';
import { Distribution } from './distribution.tsx';
import { EmbedBuilder } from './embed-builder.tsx';
import { FindPlayer } from './find-player.tsx';
import './leaderboard.css';
import { fill, plural } from '../shared/texts/index.ts';
import { live } from './live.ts';
import { me } from './me.ts';
import { Player, usePlayer } from './player.tsx';
import { Podium } from './podium.tsx';
import { Ranks } from './ranks.tsx';
import { showDecimals } from './score-format.ts';
import { Standings } from './standings.tsx';
import { joinRows, useBoard, useMoreLive, useThrottled, useTick } from './use-board.ts';

const t = boardTexts.page;

/** Shortest interval between reads of the player panel or the chart. */
const PLAYER_REFRESH_MS = 1000;
const CHART_REFRESH_MS = 5_000;
function LiveBadge() {
  const status = useStore(live, (state) => state.status);
  const text = { connecting: t.connecting, live: t.live, away: t.away }[status];
  return (
    <span className={status === 'live' ? 'badge good live' : 'badge warn'} role="status">
      {text}
    </span>
  );
}

/** Button that opens the player that the visitor marked as their own. */
function MyRank({ onFind }: { onFind: (userId: string) => void }) {
  const userId = useStore(me, (state) => state.userId);
  if (userId === null) return null;
  return (
    <button type="button" onClick={() => onFind(userId)}>
      {t.myRank}
    </button>
  );
}

const firstScore = (board: string | null) =>
  `curl ${location.origin}/v1/${board ? `boards/${board}/` : ''}scores -H "Authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"user_id":"ada","user_name":"Ada","points":3}'`;

type Visit = Partial<Record<'board' | 'season' | 'player' | 'rank', string | null>>;

/** Chooses another board, if there is one. */
function BoardSelect({ board, boards }: { board: string | null; boards: readonly Board[] }) {
  const mainBoard = boards.find((one) => one.board === 'default');
  const others = boards.filter((one) => one !== mainBoard);
  if (others.length === 0) return null;
  return (
    <label className="season">
      <span className="visually-hidden">{t.board}</span>
      <select value={board ?? ''} onChange={(event) => go(toHash([], { board: event.target.value || undefined }))}>
        <option value="">{(mainBoard && titleOf(mainBoard)) ?? t.defaultBoard}</option>
        {others.map((one) => (
          <option key={one.board} value={one.board}>
            {one.title}
          </option>
        ))}
        {board && !others.some((one) => one.board === board) && <option value={board}>{board}</option>}
      </select>
    </label>
  );
}

function BoardPage({ board, boards }: { board: string | null; boards: readonly Board[] }) {
  const { query } = useRoute();
  const season = query.get('season');
  const playerId = query.get('player');
  const [seasons, setSeasons] = useState<Season[]>([]);
  const { top, rows, error, cursor, loadMore } = useBoard(season);
  // Most players are far below the top list. Changes of their ranks are not pushed, so they are read at intervals.
  const tick = useTick(season === null);
  const playerRefresh = useThrottled(`${top?.as_of} ${tick}`, PLAYER_REFRESH_MS);
  const [isMoreAsked, setMoreAsked] = useState(false);
  const more = useMoreLive(isMoreAsked && season === null, tick);
  const shownRows = season === null && top ? joinRows(top.data, more) : rows;
  const chartRefresh = useThrottled(`${top?.as_of} ${tick}`, CHART_REFRESH_MS);
  const player = usePlayer(playerId, season, playerRefresh);
  const rank = Number(query.get('rank'));
  const visit = (next: Visit) => {
    const target = { board, season, player: playerId, rank: query.get('rank'), ...next };
    go(toHash([], Object.fromEntries(Object.entries(target).map(([name, value]) => [name, value ?? undefined]))));
  };
  useEffect(() => {
    loadSeasons().then(setSeasons, () => setSeasons([]));
  }, []);
  const shown = top?.season ?? season;
  const shownBoard = boards.find((one) => one.board === (board ?? 'default'));
  const title = shownBoard ? titleOf(shownBoard) : board;
  const period = shown ? describeSeason(shown) : t.title;
  return (
    <>
      <Rail current="leaderboard" />
      <main id="main" className="page leaderboard">
        <header className="board-head">
          <BoardLogo path={shownBoard?.logo} />
          <div className="grow">
            <h1 dir="auto">{title ?? period}</h1>
            <p className="muted">
              {title && `${period} · `}
              {top ? plural(boardTexts.counts.players, top.players) : '\u00a0'}
              {season !== null && ` ${t.finalStandings}`}
              {season === null && top && <Countdown season={top.season} />}
            </p>
          </div>
          {season === null && <LiveBadge />}
          <MyRank onFind={(userId) => visit({ player: userId })} />
          <BoardSelect board={board} boards={boards} />
          <label className="season">
            <span className="visually-hidden">{t.season}</span>
            <select value={season ?? ''} onChange={(event) => visit({ season: event.target.value || null })}>
              <option value="">{t.current}</option>
              {seasons
                .filter((one) => one.state !== 'current')
                .map((one) => (
                  <option key={one.season} value={one.season}>
                    {describeSeason(one.season)}
                  </option>
                ))}
              {season && !seasons.some((one) => one.season === season) && (
                <option value={season}>{describeSeason(season)}</option>
              )}
            </select>
          </label>
        </header>
        <div className="columns">
          <div className="stack-large">
            <section className="card board" aria-label={t.topList}>
              {error && <p className="error-box">{error}</p>}
              {top && rows.length === 0 && (
                <div className="stack empty">
                  <p className="muted">{t.empty}</p>
                  <pre className="embed-code">{firstScore(board)}</pre>
                </div>
              )}
              <Podium rows={shownRows} />
              {rows.length > 0 && (
                <Standings
                  season={season === null ? (top?.season ?? null) : null}
                  rows={shownRows}
                  caption={t.topList}
                  here={playerId}
                  onPick={(userId) => visit({ player: userId })}
                />
              )}
              {season === null && !isMoreAsked && top && top.players > top.data.length && rows.length > 0 && (
                <button type="button" className="quiet" onClick={() => setMoreAsked(true)}>
                  {t.showMore}
                </button>
              )}
              {cursor !== null && (
                <button type="button" className="quiet" onClick={loadMore}>
                  {t.more}
                </button>
              )}
              {top && season === null && (
                <p className="muted small as-of">{fill(t.asOf, { asOf: formatDateTime(top.as_of) })}</p>
              )}
            </section>
            {top && top.players > 0 && (
              <Ranks
                from={rank}
                season={season}
                players={top.players}
                here={playerId}
                refresh={playerRefresh}
                onGo={(from) => visit({ rank: from === null ? null : String(from) })}
                onPick={(userId) => visit({ player: userId })}
              />
            )}
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
            <FindPlayer
              key={season}
              season={season}
              hasNames={shownBoard?.find_by_name === true}
              here={playerId}
              onFind={(userId) => visit({ player: userId })}
            />
            <Player
              {...player}
              onPick={(userId) => visit({ player: userId })}
              onClear={() => visit({ player: null })}
            />
            <EmbedBuilder board={board} title={title ?? t.title} />
          </aside>
        </div>
      </main>
    </>
  );
}

/** Renders the page of a board. The board's name is the React key, so that no state of the previous board remains. */
function LeaderboardPage() {
  const { query } = useRoute();
  const board = query.get('board');
  const [boards, setBoards] = useState<Board[]>([]);
  useEffect(() => {
    Promise.all([loadBoard(null), loadBoards()]).then(
      ([main, others]) => setBoards([main, ...others]),
      () => undefined,
    );
  }, []);
  useEffect(() => {
    // The list has the first boards only, so a board that it lacks is read by itself.
    if (board === null || boards.length === 0 || boards.some((one) => one.board === board)) return;
    loadBoard(board).then(
      (one) => setBoards((all) => [...all, one]),
      () => undefined,
    );
  }, [board, boards]);
  openBoard(board);
  showDecimals(boards.find((one) => one.board === (board ?? 'default'))?.decimals ?? 0);
  return <BoardPage key={board} board={board} boards={boards} />;
}

mount(<LeaderboardPage />, 'leaderboard');
