/** Passkeys of the account, and what the password may do beside them. */
import { type FormEvent, useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { formatDateTime, formatRelative } from '../../shared/format.ts';
import { isPasskeySupported } from '../../shared/passkeys.ts';
import { useStore } from '../../shared/store.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { createPasskey, type Passkey } from '../model/passkeys.ts';
import { resumeSession, session } from '../model/session.ts';
import { Setting } from './setting.tsx';

const { security: t } = mailTexts;
const PATH = '/v1/me/passkeys';

/** The rule for the password of an account that also has passkeys. */
function PasswordRule() {
  const needsPasskey = useStore(session, (state) => state.profile?.password_needs_passkey ?? false);
  const change = (work: Promise<unknown>, done: string) =>
    work.then(resumeSession).then(() => showToast(done), showError);
  const setRule = () =>
    change(
      callJson('/v1/me/password/rule', { method: 'PUT', body: { needs_passkey: !needsPasskey } }),
      needsPasskey ? 'The password signs in alone again.' : 'The password needs a passkey now.',
    );
  const remove = () => {
    if (!confirm('Remove the password? Only your passkeys open the mailbox then.')) return;
    void change(callJson('/v1/me/password', { method: 'DELETE' }), 'The password is removed.');
  };
  return (
    <>
      <button type="button" onClick={() => void setRule()}>
        {needsPasskey ? 'Let the password sign in alone' : 'Ask for a passkey after the password'}
      </button>
      <button type="button" onClick={remove}>
        Remove the password
      </button>
    </>
  );
}

export function Passkeys() {
  const hasPassword = useStore(session, (state) => state.profile?.has_password ?? false);
  const { value, error, reload } = useLoaded(() => callJson<{ data: Passkey[] }>(PATH), []);
  const [isBusy, setBusy] = useState(false);
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    setBusy(true);
    createPasskey(String(new FormData(form).get('name')).trim())
      .then(() => {
        form.reset();
        showToast('The passkey is added.');
        reload();
      }, showError)
      .finally(() => setBusy(false));
  };
  const remove = (passkey: Passkey) => {
    if (!confirm(`Remove the passkey ${passkey.name}?`)) return;
    callJson(`${PATH}/${encodeURIComponent(passkey.passkey_id)}`, { method: 'DELETE' }).then(() => {
      showToast('The passkey is removed.');
      reload();
    }, showError);
  };
  return (
    <Setting title={t.passkeys} text={t.passkeysText}>
      {error && <p className="error-box">{error}</p>}
      <ul className="plain-list filter-list">
        {value?.data.map((passkey) => (
          <li key={passkey.passkey_id}>
            <span className="grow">
              {passkey.name}{' '}
              <span className="muted small setting-detail">
                since {formatDateTime(passkey.created_at)},{' '}
                {passkey.last_used_at ? `used ${formatRelative(passkey.last_used_at)}` : 'not used yet'}
              </span>
            </span>
            <button type="button" className="quiet" onClick={() => remove(passkey)}>
              Remove<span className="visually-hidden"> {passkey.name}</span>
            </button>
          </li>
        ))}
      </ul>
      {isPasskeySupported() ? (
        <form className="row" onSubmit={add}>
          <input
            name="name"
            required
            maxLength={128}
            aria-label="Name of the passkey"
            placeholder="Name, such as My phone"
          />
          <button type="submit" disabled={isBusy}>
            Add a passkey
          </button>
        </form>
      ) : (
        <p className="muted">This browser does not support passkeys.</p>
      )}
      {hasPassword && (value?.data.length ?? 0) > 0 && (
        <div className="row wrap">
          <PasswordRule />
        </div>
      )}
    </Setting>
  );
}
