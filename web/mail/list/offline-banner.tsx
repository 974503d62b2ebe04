/** Says what waits on this device while the server cannot be reached. */
import { formatList } from '../../shared/format.ts';
import { useStore } from '../../shared/store.ts';
import { fill, plural } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { outbox } from '../compose/outbox.ts';
import { waiting } from '../model/change-queue.ts';
import { connection } from '../model/events.ts';

const t = mailTexts.main;

/** Describes the changes that wait on this device, for example "2 changes and 1 message". Empty if there are none. */
function describeWaiting(changes: number, letters: number): string {
  return formatList([
    changes > 0 ? plural(mailTexts.counts.changes, changes) : '',
    letters > 0 ? plural(mailTexts.counts.messages, letters) : '',
  ]);
}

export function OfflineBanner() {
  const isAway = useStore(connection, (value) => value.status) === 'away';
  const { changes, isBlocked } = useStore(waiting, (state) => state);
  const letters = useStore(outbox, (state) => state.letters).filter((letter) => letter.state === 'waiting').length;
  if (!isAway && !isBlocked && letters === 0) return null;
  const what = describeWaiting(changes.length, letters);
  const isOne = changes.length + letters === 1;
  return (
    <div className="banner" role="status">
      {isAway ? `${t.youAreOffline} ` : `${t.serverCannotBeReached} `}
      {what ? fill(isOne ? t.waitingOne : t.waiting, { what }) : t.offlineText}
    </div>
  );
}
