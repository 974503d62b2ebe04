/** Passkeys of the account, and the rule for its password. */
import { type FormEvent, useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { formatDateTime, formatRelative } from '../../shared/format.ts';
import { isPasskeySupported } from '../../shared/passkeys.ts';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { createPasskey, type Passkey } from '../model/passkeys.ts';
import { resumeSession, session } from '../model/session.ts';
import { Setting } from './setting.tsx';

const { security: t } = mailSettingsTexts;
const PATH = '/v1/me/passkeys';

/** The rule for the password of an account that also has passkeys. */
function PasswordRule() {
  const needsPasskey = useStore(session, (state) => state.profile?.password_needs_passkey ?? false);
  const change = (work: Promise<unknown>, done: string) =>
    work.then(resumeSession).then(() => showToast(done), showError);
  const setRule = () =>
    change(
      callJson('/v1/me/password/rule', { method: 'PUT', body: { needs_passkey: !needsPasskey } }),
      needsPasskey ? t.passwordAlone : t.passkeyNeeded,
    );
  const remove = () => {
    if (!confirm(t.confirmRemovePassword)) return;
    void change(callJson('/v1/me/password', { method: 'DELETE' }), t.passwordRemoved);
  };
  return (
    <>
      <button type="button" onClick={() => void setRule()}>
        {needsPasskey ? t.letPasswordAlone : t.askForPasskey}
      </button>
      <button type="button" onClick={remove}>
        {t.removePassword}
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
        showToast(t.passkeyAdded);
        reload();
      }, showError)
      .finally(() => setBusy(false));
  };
  const remove = (passkey: Passkey) => {
    if (!confirm(fill(t.confirmRemovePasskey, { name: passkey.name }))) return;
    callJson(`${PATH}/${encodeURIComponent(passkey.passkey_id)}`, { method: 'DELETE' }).then(() => {
      showToast(t.passkeyRemoved);
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
              <bdi>{passkey.name}</bdi>{' '}
              <span className="muted small setting-detail">
                {fill(t.passkeySince, {
                  createdAt: formatDateTime(passkey.created_at),
                  used: passkey.last_used_at ? fill(t.used, { when: formatRelative(passkey.last_used_at) }) : t.notUsed,
                })}
              </span>
            </span>
            <button type="button" className="quiet" onClick={() => remove(passkey)}>
              {t.remove}
              <span className="visually-hidden"> {passkey.name}</span>
            </button>
          </li>
        ))}
      </ul>
      {isPasskeySupported() ? (
        <form className="row" onSubmit={add}>
          <input name="name" required maxLength={128} aria-label={t.namePasskey} placeholder={t.passkeyHint} />
          <button type="submit" disabled={isBusy}>
            {t.addPasskey}
          </button>
        </form>
      ) : (
        <p className="muted">{t.noPasskeys}</p>
      )}
      {hasPassword && (value?.data.length ?? 0) > 0 && (
        <div className="row wrap">
          <PasswordRule />
        </div>
      )}
    </Setting>
  );
}
