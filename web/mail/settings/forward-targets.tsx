/** Addresses to which filters may forward. The owner of each address confirms it with a code. */
import { type FormEvent, useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';

const t = mailSettingsTexts.forwardTargets;

interface Target {
  email: string;
  confirmed_at: string | null;
}
const PATH = '/v1/me/forward-targets';

export function ForwardTargets() {
  const { value, error, reload } = useLoaded(() => callJson<Target[]>(PATH), []);
  const [isBusy, setBusy] = useState(false);
  const run = (work: Promise<unknown>, done: string) => {
    setBusy(true);
    work
      .then(() => {
        showToast(done);
        reload();
      }, showError)
      .finally(() => setBusy(false));
  };
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const email = String(new FormData(form).get('email')).trim();
    run(
      callJson(PATH, { body: { email } }).then(() => form.reset()),
      fill(t.codeSent, { email }),
    );
  };
  const confirmCode = (event: FormEvent<HTMLFormElement>, email: string) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code')).replaceAll(/\D/g, '');
    run(callJson(`${PATH}/confirm`, { body: { email, code } }), fill(t.mayForward, { email }));
  };
  const remove = (email: string) =>
    run(callJson(`${PATH}/${encodeURIComponent(email)}`, { method: 'DELETE' }), fill(t.removed, { email }));
  return (
    <section className="card stack" aria-label={t.forwarding}>
      <h2>{t.forwarding}</h2>
      <p className="muted">{t.about}</p>
      {error && <p className="error-box">{error}</p>}
      <ul className="plain-list filter-list">
        {value?.map((target) => (
          <li key={target.email}>
            <span className="grow ellipsis">{target.email}</span>
            {target.confirmed_at ? (
              <span className="badge good">{t.confirmed}</span>
            ) : (
              <form className="row" onSubmit={(event) => confirmCode(event, target.email)}>
                <input
                  name="code"
                  required
                  inputMode="numeric"
                  autoComplete="one-time-code"
                  aria-label={fill(t.codeOf, { email: target.email })}
                  placeholder={t.code}
                />
                <button type="submit" disabled={isBusy}>
                  {t.confirm}
                </button>
              </form>
            )}
            <button type="button" className="quiet" onClick={() => remove(target.email)}>
              {t.remove}
              <span className="visually-hidden"> {target.email}</span>
            </button>
          </li>
        ))}
      </ul>
      <form className="row" onSubmit={add}>
        <input
          name="email"
          type="email"
          required
          maxLength={254}
          aria-label={t.address}
          placeholder="me@elsewhere.example"
        />
        <button type="submit" disabled={isBusy}>
          {t.askForCode}
        </button>
      </form>
    </section>
  );
}
