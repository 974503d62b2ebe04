/** Bar chart of how many players have which score, with a mark for the chosen player. */
import { useEffect, useState } from 'react';
import { boardTexts } from '../shared/texts/board.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { type Distribution as Answer, loadDistribution } from './api.ts';
import { formatScore } from './score-format.ts';

const t = boardTexts.page;

const WIDTH = 480;
const HEIGHT = 170;
const FOOT = 22;
const HEAD = 22;

interface Props {
  /** The season to show, the current one or a past one, as `YYYY-MM`. */
  season: string;
  /** Score of the chosen player, which the chart marks; null if no player is chosen. */
  here: number | null;
  hereName: string;
  /** Counter: when it changes, the chart loads its data again. */
  refresh: number;
}

/** Keeps the last answer on screen until the next one arrives, but drops an answer for another season at once. */
function useDistribution(season: string, refresh: number): Answer | null {
  const [answer, setAnswer] = useState<Answer | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new value of `refresh` starts another read
  useEffect(() => {
    let isCurrent = true;
    loadDistribution(season).then(
      (next) => isCurrent && setAnswer(next),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [season, refresh]);
  return answer?.season === season ? answer : null;
}

export function Distribution({ season, here, hereName, refresh }: Props) {
  const answer = useDistribution(season, refresh);
  if (!answer || answer.data.length === 0) return null;
  const bars = answer.data;
  const most = Math.max(...bars.map((bar) => bar.players));
  const first = bars[0]?.from ?? 0;
  const last = bars.at(-1)?.to ?? first;
  const slot = WIDTH / bars.length;
  const hereX =
    here === null || here < first || here > last ? null : ((here - first + 0.5) / (last - first + 1)) * WIDTH;
  const players = plural(boardTexts.counts.players, answer.players);
  const label = fill(t.chart, {
    players,
    first: formatScore(first),
    last: formatScore(last),
    here: here === null ? '' : fill(t.chartHere, { name: hereName, score: formatScore(here) }),
  });
  return (
    <figure className="distribution">
      <figcaption>
        <h2>{t.distribution}</h2>
        <p className="muted small">{players}</p>
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
              <title>
                {fill(t.bar, {
                  from: formatScore(bar.from),
                  to: formatScore(bar.to),
                  players: plural(boardTexts.counts.players, bar.players),
                })}
              </title>
            </rect>
          );
        })}
        <line x1="0" x2={WIDTH} y1={HEIGHT - FOOT + 0.5} y2={HEIGHT - FOOT + 0.5} className="axis" />
        <text x="0" y={HEIGHT - 5} className="tick">
          {formatScore(first)}
        </text>
        <text x={WIDTH} y={HEIGHT - 5} textAnchor="end" className="tick">
          {formatScore(last)}
        </text>
        {hereX !== null && (
          <>
            <line x1={hereX} x2={hereX} y1={HEAD - 4} y2={HEIGHT - FOOT} className="here-line" />
            <text x={Math.min(Math.max(hereX, 44), WIDTH - 44)} y={12} textAnchor="middle" className="here-text">
              {hereName}
            </text>
          </>
        )}
      </svg>
    </figure>
  );
}
