/** The first three, as on a podium. The table below says the same, so this is decoration for those who can see it. */
import { Avatar } from '../shared/avatar.tsx';
import { formatCount } from '../shared/format.ts';
import type { Standing } from './api.ts';
import { formatScore } from './score-format.ts';

/** Order of the steps from left to right: the winner is in the middle. */
const PLACES = [1, 0, 2] as const;

export function Podium({ rows }: { rows: readonly Standing[] }) {
  if (rows.length < 3) return null;
  return (
    <div className="podium" aria-hidden="true">
      {PLACES.map((place) => {
        const row = rows[place];
        if (!row) return null;
        const name = row.user_name || row.user_id;
        return (
          <div key={row.user_id} className={`stand stand-${place + 1}`}>
            <Avatar name={name} id={row.user_id} isLarge />
            <strong className="ellipsis" dir="auto">
              {name}
            </strong>
            <span className="muted small">{formatScore(row.score)}</span>
            <span className="step-block">{formatCount(row.rank)}</span>
          </div>
        );
      })}
    </div>
  );
}
