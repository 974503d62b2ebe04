/** How many players have which score, as bars, with a mark for the chosen player. */
import { useEffect, useState } from 'react';
import { formatCount } from '../shared/format.ts';
import { loadTop } from './api.ts';

const BARS_MAX = 32;
/** Pages of 100 that are read for the chart: the board's best 1,000. */
const PAGES_MAX = 10;

export interface Bar {
  from: number;
  to: number;
  players: number;
}

/** Equal steps of score between the lowest and the highest. */
export function toBars(scores: readonly number[]): Bar[] {
  if (scores.length === 0) return [];
  let low = scores[0] ?? 0;
  let high = low;
  for (const score of scores) {
    low = Math.min(low, score);
    high = Math.max(high, score);
  }
  const step = Math.max(1, Math.ceil((high - low + 1) / BARS_MAX));
  const count = Math.ceil((high - low + 1) / step);
  const bars = Array.from({ length: count }, (_, index) => ({
    from: low + index * step,
    to: low + (index + 1) * step - 1,
    players: 0,
  }));
  for (const score of scores) {
    const bar = bars[Math.floor((score - low) / step)];
    if (bar) bar.players += 1;
  }
  return bars;
}

interface Sample {
  scores: number[];
  players: number;
}

async function loadScores(season: string | null, signal: AbortSignal): Promise<Sample> {
  const scores: number[] = [];
  let cursor: string | null = null;
  let players = 0;
  for (let page = 0; page < PAGES_MAX && !signal.aborted; page++) {
    const top = await loadTop({ season, cursor, limit: 100 });
    for (const row of top.data) scores.push(row.score);
    players = top.players;
    cursor = top.next_cursor ?? null;
    if (cursor === null) break;
  }
  return { scores, players };
}

const WIDTH = 480;
const HEIGHT = 170;
const FOOT = 22;
const HEAD = 22;

interface Props {
  season: string | null;
  /** The chosen player's score. */
  here: number | null;
  /** Changes when it is time to read again. */
  refresh: number;
}

export function Distribution({ season, here, refresh }: Props) {
  const [sample, setSample] = useState<Sample | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `refresh` is the reason to read again
  useEffect(() => {
    const stop = new AbortController();
    loadScores(season, stop.signal).then(
      (next) => !stop.signal.aborted && setSample(next),
      () => undefined,
    );
    return () => stop.abort();
  }, [season, refresh]);
  if (!sample || sample.scores.length === 0) return null;
  const bars = toBars(sample.scores);
  const most = Math.max(...bars.map((bar) => bar.players));
  const first = bars[0]?.from ?? 0;
  const last = bars.at(-1)?.to ?? 1;
  const slot = WIDTH / bars.length;
  const covered = sample.scores.length < sample.players ? `the best ${formatCount(sample.scores.length)} of ` : '';
  const hereX =
    here === null || here < first || here > last ? null : ((here - first + 0.5) / (last - first + 1)) * WIDTH;
  const label = `Scores of ${covered}${formatCount(sample.players)} players, from ${formatCount(first)} to ${formatCount(last)}. ${
    here === null ? '' : `The chosen player has ${formatCount(here)}.`
  }`;
  return (
    <figure className="distribution">
      <figcaption>
        <h2>Distribution of scores</h2>
        <p className="muted small">
          {covered ? `The best ${formatCount(sample.scores.length)} of` : 'All'} {formatCount(sample.players)} players
        </p>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {bars.map((bar, index) => {
          const height = bar.players === 0 ? 0 : Math.max(2, (bar.players / most) * (HEIGHT - FOOT - HEAD));
          const isHere = here !== null && here >= bar.from && here <= bar.to;
          return (
            <rect
              key={bar.from}
              className={isHere ? 'bar-here' : 'bar-other'}
              x={index * slot + slot * 0.08}
              width={slot * 0.84}
              y={HEIGHT - FOOT - height}
              height={height}
              rx={Math.min(3, slot / 4)}
            >
              <title>{`${formatCount(bar.from)}–${formatCount(bar.to)}: ${formatCount(bar.players)} players`}</title>
            </rect>
          );
        })}
        <line x1="0" x2={WIDTH} y1={HEIGHT - FOOT + 0.5} y2={HEIGHT - FOOT + 0.5} className="axis" />
        <text x="0" y={HEIGHT - 5} className="tick">
          {formatCount(first)}
        </text>
        <text x={WIDTH} y={HEIGHT - 5} textAnchor="end" className="tick">
          {formatCount(last)}
        </text>
        {hereX !== null && (
          <>
            <line x1={hereX} x2={hereX} y1={HEAD - 4} y2={HEIGHT - FOOT} className="here-line" />
            <text x={Math.min(Math.max(hereX, 44), WIDTH - 44)} y={12} textAnchor="middle" className="here-text">
              you are here
            </text>
          </>
        )}
      </svg>
    </figure>
  );
}
