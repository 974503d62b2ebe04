/** Choice of a time at which the message is sent. */
import { useState } from 'react';

/** Local time without a zone, for `datetime-local`. */
const toLocalInput = (date: Date) =>
  new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

function nextMorning(weekday: number | null): Date {
  const date = new Date();
  date.setDate(date.getDate() + 1);
  while (weekday !== null && date.getDay() !== weekday) date.setDate(date.getDate() + 1);
  date.setHours(8, 0, 0, 0);
  return date;
}

export function Schedule({ onPick }: { onPick: (at: Date) => void }) {
  const [custom, setCustom] = useState(toLocalInput(nextMorning(null)));
  const picked = new Date(custom);
  return (
    <fieldset className="schedule">
      <legend>Send later</legend>
      <button type="button" onClick={() => onPick(nextMorning(null))}>
        Tomorrow, 8:00
      </button>
      <button type="button" onClick={() => onPick(nextMorning(1))}>
        Monday, 8:00
      </button>
      <input
        type="datetime-local"
        aria-label="Date and time"
        value={custom}
        min={toLocalInput(new Date())}
        onChange={(event) => setCustom(event.target.value)}
      />
      <button type="button" disabled={!(picked.getTime() > Date.now())} onClick={() => onPick(picked)}>
        At this time
      </button>
    </fieldset>
  );
}
