/** Senders that the user trusts or blocks. */
import { type FormEvent, useState } from 'react';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { deleteSender, loadSenders, type Sender, saveSender } from '../model/senders.ts';

const { senders: t } = mailTexts;

async function loadAll(): Promise<Sender[]> {
  const all: Sender[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof loadSenders>> = await loadSenders(cursor);
    all.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
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
          <li key={one.id}>
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
  const { value, error, reload } = useLoaded(loadAll, []);
  const [problem, setProblem] = useState<string | null>(null);
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const sender = String(data.get('sender')).trim();
    saveSender(sender, data.get('status') === 'trusted' ? 'trusted' : 'blocked').then(
      () => {
        form.reset();
        setProblem(null);
        reload();
      },
      () => setProblem(fill(t.invalid, { sender })),
    );
  };
  const remove = (sender: Sender) =>
    void deleteSender(sender.id).then(() => {
      showToast(fill(t.removed, { sender: sender.sender }));
      reload();
    }, showError);
  const withStatus = (status: Sender['status']) => (value ?? []).filter((one) => one.status === status);
  return (
    <div className="stack-large">
      <p className="muted">{t.lead}</p>
      <form className="row wrap sender-form" onSubmit={save}>
        <input name="sender" required maxLength={320} aria-label={t.field} placeholder={t.example} className="grow" />
        <select name="status" aria-label={t.decision}>
          <option value="blocked">{t.blockOption}</option>
          <option value="trusted">{t.trustOption}</option>
        </select>
        <button type="submit">{t.add}</button>
      </form>
      {(problem ?? error) && (
        <p className="error-box" role="alert">
          {problem ?? error}
        </p>
      )}
      <List title={t.blocked} empty={t.noneBlocked} senders={withStatus('blocked')} onRemove={remove} />
      <List title={t.trusted} empty={t.noneTrusted} senders={withStatus('trusted')} onRemove={remove} />
    </div>
  );
}
