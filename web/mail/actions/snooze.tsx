/** Menu of the times at which a snoozed conversation returns to the Inbox. */
import { useState } from 'react';
import { Dialog } from '../../shared/dialog.tsx';
import { focusOnAppearing } from '../../shared/focus.ts';
import { formatDateTime } from '../../shared/format.ts';
import { Icon } from '../../shared/icons.tsx';
import { mailTexts } from '../../shared/texts/mail.ts';
import { view } from '../model/view.ts';
import { act } from './actions.ts';
import { listSnoozeTimes } from './snooze-times.ts';

const { snooze: t } = mailTexts;
/** Latest day to snooze until, in days from now: one below the limit of the API (366). */
const DAYS_MAX = 365;

/** Formats local time without a zone, as `<input type="datetime-local">` expects it. */
const toLocalInput = (date: Date) =>
  new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

export function SnoozeDialog() {
  const [now] = useState(() => new Date());
  const times = listSnoozeTimes(now);
  const [custom, setCustom] = useState(toLocalInput(times.at(-1)?.at ?? now));
  const close = () => view.set({ isSnoozeOpen: false });
  const snooze = (until: Date) => {
    close();
    act.snooze(until);
  };
  const latest = new Date(now.getTime() + DAYS_MAX * 86_400_000);
  return (
    <Dialog title={t.title} onClose={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          snooze(new Date(custom));
        }}
      >
        <ul className="plain-list choices">
          {times.map(({ name, at }, index) => (
            <li key={name}>
              <button
                ref={index === 0 ? focusOnAppearing : null}
                type="button"
                className="quiet snooze-time"
                onClick={() => snooze(at)}
              >
                <Icon name="snooze" /> <span className="grow">{t.times[name]}</span>
                <time className="muted" dateTime={at.toISOString()}>
                  {formatDateTime(at.toISOString())}
                </time>
              </button>
            </li>
          ))}
        </ul>
        <label className="field">
          <span>{t.custom}</span>
          <input
            type="datetime-local"
            required
            value={custom}
            min={toLocalInput(now)}
            max={toLocalInput(latest)}
            onChange={(event) => setCustom(event.target.value)}
          />
        </label>
        <div>
          <button type="submit">{t.button}</button>
        </div>
      </form>
    </Dialog>
  );
}
