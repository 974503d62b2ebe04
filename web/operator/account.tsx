/** Actions of an operator on one account: suspension, new password, quota, history. */
import { type FormEvent, useState } from 'react';
import { isServed, useConfig } from '../shared/config.ts';
import { Dialog } from '../shared/dialog.tsx';
import { FormButtons } from '../shared/form-buttons.tsx';
import { formatDateTime } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { AuditTable } from './audit.tsx';
import { Once } from './once.tsx';
import { QuotaForm } from './quotas.tsx';
import { request, requestJson } from './token.ts';
import type { User } from './types.ts';

const t = operatorTexts.accounts;

function SuspendDialog({ user, onClose, onDone }: { user: User; onClose: () => void; onDone: () => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const reason = String(new FormData(event.currentTarget).get('reason')).trim();
    request(`/v1/accounts/${encodeURIComponent(user.user_id)}/suspension`, { method: 'PUT', body: { reason } }).then(
      () => {
        showToast(fill(t.suspendedToast, { name: user.name }));
        onDone();
      },
      showError,
    );
  };
  return (
    <Dialog title={fill(t.suspendTitle, { name: user.name })} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>{t.suspendText}</p>
        <label className="field">
          <span>{t.reason}</span>
          <input name="reason" required maxLength={1000} />
        </label>
        <FormButtons onCancel={onClose} submit={t.suspend} isDanger />
      </form>
    </Dialog>
  );
}

function SignIn({ user }: { user: User }) {
  const path = `/v1/accounts/${encodeURIComponent(user.user_id)}`;
  const { value, error, reload } = useLoaded(
    () => requestJson<{ suspended_at: string | null }>(`${path}/suspension`),
    [path],
  );
  const [isAsking, setAsking] = useState(false);
  const [link, setLink] = useState<{ url?: string; expires_at: string } | null>(null);
  const resume = () =>
    request(`${path}/suspension`, { method: 'DELETE' }).then(() => {
      showToast(fill(t.resumed, { name: user.name }));
      reload();
    }, showError);
  const reset = () =>
    requestJson<{ url?: string; expires_at: string }>(`${path}/password-reset`, { method: 'POST' }).then(
      setLink,
      showError,
    );
  return (
    <section className="stack" aria-label={t.state}>
      <h3>{t.state}</h3>
      {error && <p className="error-box">{error}</p>}
      {value && (
        <p className={value.suspended_at ? 'danger-text' : 'muted'}>
          {value.suspended_at ? fill(t.suspended, { date: formatDateTime(value.suspended_at) }) : t.active}
        </p>
      )}
      {link?.url && <Once about={fill(t.resetText, { date: formatDateTime(link.expires_at) })} text={link.url} />}
      {link && !link.url && <p role="status">{fill(t.resetMailed, { date: formatDateTime(link.expires_at) })}</p>}
      <div className="row wrap">
        {value &&
          (value.suspended_at ? (
            <button type="button" onClick={() => void resume()}>
              {t.resume}
            </button>
          ) : (
            <button type="button" className="danger" onClick={() => setAsking(true)}>
              {t.suspend}
            </button>
          ))}
        {user.email && (
          <button type="button" onClick={() => void reset()}>
            {t.reset}
          </button>
        )}
      </div>
      {isAsking && (
        <SuspendDialog
          user={user}
          onClose={() => setAsking(false)}
          onDone={() => {
            setAsking(false);
            reload();
          }}
        />
      )}
    </section>
  );
}

export function Account({ user }: { user: User }) {
  const config = useConfig();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <SignIn user={user} />
      {isServed(config, 'storage') && (
        <section className="stack" aria-label={operatorTexts.quotas.title}>
          <h3>{operatorTexts.quotas.title}</h3>
          <QuotaForm kind="users" id={user.user_id} />
        </section>
      )}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t.history}</summary>
        {isOpen && <AuditTable path={`/v1/audit?target=${encodeURIComponent(user.user_id)}`} />}
      </details>
    </>
  );
}
