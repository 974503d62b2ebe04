/** Shows the time until the season ends. */
import { useEffect, useState } from 'react';
import { formatCount } from '../shared/format.ts';
import { boardTexts } from '../shared/texts/board.ts';
import { fill } from '../shared/texts/index.ts';
import { endOfSeason, timeLeft } from './season-end.ts';

const t = boardTexts.page;

/** Text with the time that is left, for example "Ends in 3 days 4 h". */
export function Countdown({ season }: { season: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  const left = timeLeft(season, now);
  if (!left) return null;
  const parts = { days: formatCount(left.days), hours: formatCount(left.hours), minutes: formatCount(left.minutes) };
  return (
    <>
      {' · '}
      <time className="countdown" dateTime={new Date(endOfSeason(season)).toISOString()}>
        {fill(left.days > 0 ? t.endsInDays : t.endsInHours, parts)}
      </time>
    </>
  );
}
