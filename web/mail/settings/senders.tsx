/** Senders that the user trusts or blocks. */
import { type FormEvent, useState } from 'react';
import { describeError } from '../../shared/api.ts';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { useLoaded } from '../../shared/use-loaded.ts';
import { type QueuedChange, waiting } from '../model/change-queue.ts';
import { decideSender, forgetSender } from '../model/changes.ts';
import { entriesOf, loadSenders, type Sender } from '../model/senders.ts';
import { signOutIfUnauthorized } from '../model/session.ts';

const { senders: t } = mailTexts;
const DECISIONS = entriesOf(t.decisions);

/** Applies decisions that the server does not have yet to those that were read from it. */
function applyDecisions(senders: readonly Sender[], changes: readonly QueuedChange[]): Sender[] {
  let result = [...senders];
  for (const change of changes) {
    if (change.kind !== 'sender') continue;
    const { sender, status, isForgotten } = change;
    result = result.filter((one) => one.sender.toLowerCase() !== sender.toLowerCase());
    if (!isForgotten) result.push({ id: '', sender, kind: 'address', status, origin: 'user' });
  }
  return result;
}

function List({
  title,
  empty,
  senders,
  onRemove,
}: {
  title: string;
  empty: string;
  senders: Sender[];
  onRemove: (sender: Sender) => void;
}) {
  return (
    <section className="card stack" aria-label={title}>
      <h2>{title}</h2>
      {senders.length === 0 && <p className="muted">{empty}</p>}
      <ul className="plain-list filter-list">
        {senders.map((one) => (
          <li key={one.sender}>
            <span className="grow ellipsis">{one.sender}</span>
            {one.origin === 'mail' && <span className="badge">{t.learned}</span>}
            <button type="button" className="quiet" onClick={() => onRemove(one)}>
              {t.remove}
              <span className="visually-hidden"> {one.sender}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Senders() {
  const { changes, isBlocked } = useStore(waiting, (state) => state);
  const { value, error } = useLoaded(async () => {
    const senders = await loadSenders();
    return waiting.get().isBlocked ? applyDecisions(senders, waiting.get().changes) : senders;
  }, [changes.length, isBlocked]);
  const [problem, setProblem] = useState<string | null>(null);
  const refuse = (cause: unknown, text: string) => {
    signOutIfUnauthorized(cause);
    setProblem(text);
  };
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const sender = String(data.get('sender')).trim();
    setProblem(null);
    decideSender(sender, data.get('status') as Sender['status']).then(
      () => form.reset(),
      (cause: unknown) => refuse(cause, fill(t.invalid, { sender })),
    );
  };
  const remove = (sender: Sender) =>
    void forgetSender(sender).catch((cause: unknown) => refuse(cause, describeError(cause)));
  const withStatus = (status: Sender['status']) => value?.filter((one) => one.status === status) ?? [];
  return (
    <div className="stack-large">
      <p className="muted">{t.lead}</p>
      <form className="row wrap sender-form" onSubmit={save}>
        <input name="sender" required maxLength={320} aria-label={t.field} placeholder={t.example} className="grow" />
        <select name="status" aria-label={t.decision}>
          {DECISIONS.map(([status, { option }]) => (
            <option key={status} value={status}>
              {option}
            </option>
          ))}
        </select>
        <button type="submit">{t.add}</button>
      </form>
      {(problem ?? error) && (
        <p className="error-box" role="alert">
          {problem ?? error}
        </p>
      )}
      {value &&
        DECISIONS.map(([status, { list, none }]) => (
          <List key={status} title={list} empty={none} senders={withStatus(status)} onRemove={remove} />
        ))}
    </div>
  );
}
