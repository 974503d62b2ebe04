/** Addresses of the account: one to sign in with, others to receive and send mail. */
import type { FormEvent } from 'react';
import { callJson } from '../../shared/api.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { loadProfile } from '../model/api.ts';
import { session } from '../model/session.ts';

const t = mailSettingsTexts.ownAddresses;

interface OwnAddress {
  email: string;
  is_primary: boolean;
}
const PATH = '/v1/me/addresses';

export function OwnAddresses() {
  const { value, error, reload } = useLoaded(() => callJson<OwnAddress[]>(PATH), []);
  const changed = (text: string) => {
    showToast(text);
    reload();
    // Load the profile again, because the compose window offers its addresses as senders.
    loadProfile().then(
      (profile) => session.set({ profile }),
      () => undefined,
    );
  };
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const email = String(new FormData(form).get('email')).trim();
    callJson(PATH, { body: { email } }).then(() => {
      form.reset();
      changed(fill(t.isYours, { email }));
    }, showError);
  };
  const remove = (email: string) => {
    if (!confirm(fill(t.confirmGiveUp, { email }))) return;
    callJson(`${PATH}/${encodeURIComponent(email)}`, { method: 'DELETE' }).then(
      () => changed(fill(t.givenUp, { email })),
      showError,
    );
  };
  return (
    <section className="card stack" aria-label={t.yourAddresses}>
      <h2>{t.yourAddresses}</h2>
      {error && <p className="error-box">{error}</p>}
      <ul className="plain-list filter-list">
        {value?.map((one) => (
          <li key={one.email}>
            <span className="grow ellipsis">{one.email}</span>
            {one.is_primary ? (
              <span className="badge">{t.toSignInWith}</span>
            ) : (
              <button type="button" className="quiet" onClick={() => remove(one.email)}>
                {t.giveUp}
                <span className="visually-hidden"> {one.email}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      <form className="row" onSubmit={add}>
        <input
          name="email"
          type="email"
          required
          maxLength={320}
          aria-label={t.anotherAddress}
          placeholder="another@…"
        />
        <button type="submit">{t.add}</button>
      </form>
    </section>
  );
}
