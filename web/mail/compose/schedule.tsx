/** Menu of the times at which the message can be sent. */
import { useState } from 'react';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';

const t = mailComposeTexts.window;

/** Formats local time without a zone, as `<input type="datetime-local">` expects it. */
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
      <legend>{t.sendLater}</legend>
      <button type="button" onClick={() => onPick(nextMorning(null))}>
        {t.tomorrow}
      </button>
      <button type="button" onClick={() => onPick(nextMorning(1))}>
        {t.monday}
      </button>
      <input
        type="datetime-local"
        aria-label={t.dateAndTime}
        value={custom}
        min={toLocalInput(new Date())}
        onChange={(event) => setCustom(event.target.value)}
      />
      <button type="button" disabled={!(picked.getTime() > Date.now())} onClick={() => onPick(picked)}>
        {t.atThisTime}
      </button>
    </fieldset>
  );
}
