/**
 * Standings as a table, with the moves since the page was opened. Rows slide to their new positions; the document always has the
 * true order.
 */
import { useLayoutEffect, useRef } from 'react';
import { formatCount } from '../shared/format.ts';
import { useStore } from '../shared/store.ts';
import { boardTexts } from '../shared/texts/board.ts';
import { fill } from '../shared/texts/index.ts';
import type { Standing } from './api.ts';
import { me } from './me.ts';
import { formatScore } from './score-format.ts';

const t = boardTexts.page;

const GLIDE_MS = 420;

interface Seen {
  top: number;
  score: number;
}

/** Animates with FLIP (first, last, invert, play): each row slides from its old position to the new one. */
function useGlide(rows: readonly Standing[]) {
  const body = useRef<HTMLTableSectionElement>(null);
  const seen = useRef(new Map<string, Seen>());
  useLayoutEffect(() => {
    const next = new Map<string, Seen>();
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const byId = new Map(rows.map((row) => [row.user_id, row]));
    for (const element of body.current?.querySelectorAll<HTMLElement>('tr[data-id]') ?? []) {
      const id = element.dataset.id ?? '';
      const score = byId.get(id)?.score ?? 0;
      const before = seen.current.get(id);
      const top = element.offsetTop;
      next.set(id, { top, score });
      if (isStill || seen.current.size === 0) continue;
      if (!before) element.animate([{ opacity: 0 }, { opacity: 1 }], GLIDE_MS);
      else if (before.top !== top) {
        element.animate([{ transform: `translateY(${before.top - top}px)` }, { transform: 'none' }], {
          duration: GLIDE_MS,
          easing: 'cubic-bezier(.2,.7,.2,1)',
        });
      }
      if (before && before.score !== score) {
        element.querySelector('.score')?.animate([{ color: 'var(--leaderboard)', fontWeight: 800 }, {}], 900);
      }
    }
    seen.current = next;
  }, [rows]);
  return body;
}

/** The rank that each player had when this page first saw the player, by season and user id. */
const firstRanks = new Map<string, number>();

/** Number of places that a player has gained since this page first saw the player; 0 for a player it has not seen before. */
function climbed({ user_id: userId, rank }: Standing, season: string): number {
  const key = `${season} ${userId}`;
  const before = firstRanks.get(key);
  if (before === undefined) firstRanks.set(key, rank);
  return (before ?? rank) - rank;
}

function Move({ places }: { places: number }) {
  if (places === 0) return null;
  const count = formatCount(Math.abs(places));
  const label = fill(places > 0 ? t.up : t.down, { count });
  return (
    <span className={places > 0 ? 'move good-text' : 'move danger-text'} data-tip={label}>
      <span aria-hidden="true">
        {places > 0 ? '▲' : '▼'}
        {count}
      </span>
      <span className="visually-hidden">{label}</span>
    </span>
  );
}

interface Props {
  /** The current season, whose gains and losses of places are shown; null for a past season. */
  season?: string | null;
  rows: readonly Standing[];
  caption: string;
  here?: string | null;
  onPick?: (userId: string) => void;
}

/** Scores from this one on need a wider column. */
const WIDE_SCORE = 1_000_000;

export function Standings({ season = null, rows, caption, here, onPick }: Props) {
  const body = useGlide(rows);
  const own = useStore(me, (state) => state.userId);
  const best = Math.max(1, ...rows.map((row) => row.score));
  return (
    <table className={best < WIDE_SCORE ? 'standings' : 'standings wide-scores'}>
      <caption className="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          <th scope="col" className="numeric">
            {t.rankHead}
          </th>
          <th scope="col">{t.player}</th>
          <th scope="col" className="numeric">
            {t.scoreHead}
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((row) => (
          <tr key={row.user_id} data-id={row.user_id} aria-current={row.user_id === here ? 'true' : undefined}>
            <td className={`numeric rank rank-${row.rank}`}>{formatCount(row.rank)}</td>
            <th scope="row" className="player">
              {onPick ? (
                <button type="button" className="quiet name" dir="auto" onClick={() => onPick(row.user_id)}>
                  {row.user_name || row.user_id}
                </button>
              ) : (
                <span className="name" dir="auto">
                  {row.user_name || row.user_id}
                </span>
              )}
              {row.user_id === here && <span className="badge">{t.selected}</span>}
              {row.user_id === own && <span className="badge good">{t.you}</span>}
              {season !== null && <Move places={climbed(row, season)} />}
              <meter className="bar" aria-hidden="true" min={0} max={best} value={row.score} />
            </th>
            <td className="numeric score">{formatScore(row.score)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
