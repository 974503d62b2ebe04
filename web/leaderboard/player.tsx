/** One player: rank, score and neighbours. Loaded again when the live board changes. */
import { useEffect, useRef, useState } from 'react';
import { ApiError, describeError } from '../shared/api.ts';
import { formatCount } from '../shared/format.ts';
import { useStore } from '../shared/store.ts';
import { boardTexts } from '../shared/texts/board.ts';
import { fill, fillNodes, plural } from '../shared/texts/index.ts';
import { loadNeighbors, loadPlayer, type PlayerInfo, type Standing } from './api.ts';
import { me, setMe } from './me.ts';
import { formatScore } from './score-format.ts';
import { Standings } from './standings.tsx';

const t = boardTexts.page;

interface Loaded {
  info: PlayerInfo;
  around: Standing[];
}

/** HTTP statuses of refusals that a repeated request would get again. 404 is not among them: a player may get a first score. */
const REFUSALS: readonly number[] = [400, 403, 414, 422];

/** Reads the neighbours only of a player who exists. */
async function loadPlace(userId: string, season: string | null) {
  const player = await loadPlayer(userId, season);
  return [player, await loadNeighbors(userId, season)] as const;
}

export function usePlayer(userId: string | null, season: string | null, refresh: number) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState<string | null>(null);
  // Remembers the last refused request. It is not repeated, because it would be refused again.
  const refused = useRef<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new value of `refresh` starts another read
  useEffect(() => {
    if (userId === null) {
      setLoaded(null);
      setError(null);
      return;
    }
    const asked = `${season} ${userId}`;
    if (refused.current === asked) return;
    refused.current = null;
    let isCurrent = true;
    loadPlace(userId, season).then(
      ([player, neighbors]) => {
        if (!isCurrent) return;
        setLoaded({ info: player.user_info, around: neighbors.data });
        setError(null);
      },
      (cause: unknown) => {
        if (!isCurrent) return;
        setLoaded(null);
        if (cause instanceof ApiError && REFUSALS.includes(cause.status)) refused.current = asked;
        const isUnknown = cause instanceof ApiError && cause.status === 404;
        setError(isUnknown ? fill(t.noPlayer, { userId }) : describeError(cause));
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [userId, season, refresh]);
  return { loaded, error };
}

function describePlace(info: PlayerInfo): string {
  if (info.players <= 1) return t.onlyPlayer;
  const share = (info.rank / info.players) * 100;
  const players = plural(boardTexts.counts.players, info.players);
  // "Top 100%" would say nothing.
  if (share > 50) return fill(t.ofPlayers, { players });
  return fill(t.topShare, { share: formatCount(share < 1 ? Math.ceil(share * 10) / 10 : Math.ceil(share)), players });
}

interface Props {
  loaded: Loaded | null;
  error: string | null;
  onPick: (userId: string) => void;
  onClear: () => void;
}

export function Player({ loaded, error, onPick, onClear }: Props) {
  const own = useStore(me, (state) => state.userId);
  return (
    <div role="status">
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {loaded && (
        <section className="card stack player-card" aria-label={t.player}>
          <div className="row">
            <div className="grow">
              <h2 className="ellipsis">{loaded.info.user_name || loaded.info.user_id}</h2>
              <p className="muted small ellipsis">{loaded.info.user_id}</p>
            </div>
            <button type="button" className="quiet icon" aria-label={t.closePlayer} onClick={onClear}>
              ✕
            </button>
          </div>
          <p className="figures">
            <span>{fillNodes(t.playerRank, { rank: <strong>#{formatCount(loaded.info.rank)}</strong> })}</span>
            <span>{fillNodes(t.scorePoints, { score: <strong>{formatScore(loaded.info.score)}</strong> })}</span>
          </p>
          <p className="muted small">{describePlace(loaded.info)}</p>
          <div>
            <button
              type="button"
              aria-pressed={own === loaded.info.user_id}
              onClick={() => setMe(own === loaded.info.user_id ? null : loaded.info.user_id)}
            >
              {t.thisIsMe}
            </button>
          </div>
          <Standings rows={loaded.around} caption={t.playersAround} here={loaded.info.user_id} onPick={onPick} />
        </section>
      )}
    </div>
  );
}
