/** The recovery address, and new recovery codes. */
import { type FormEvent, useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { formatDateTime } from '../../shared/format.ts';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { resumeSession, session } from '../model/session.ts';
import { Setting } from './setting.tsx';

interface Addresses {
  email: string | null;
  works_from: string | null;
  pending_email: string | null;
}
const { security: t } = mailSettingsTexts;
const PATH = '/v1/me/recovery-address';

export function RecoveryAddress() {
  const { value, error, reload } = useLoaded(() => callJson<Addresses>(PATH), []);
  const run = (work: Promise<unknown>, done: string) =>
    work.then(() => {
      showToast(done);
      reload();
    }, showError);
  const set = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const email = String(new FormData(form).get('email')).trim();
    const work = callJson(PATH, { method: 'PUT', body: { email } }).then(() => form.reset());
    void run(work, fill(t.codeWasSent, { email }));
  };
  const confirmCode = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code'));
    void run(callJson(`${PATH}/confirm`, { body: { code } }), t.recoveryAddressConfirmed);
  };
  const remove = () => {
    if (!confirm(t.confirmRemoveRecovery)) return;
    void run(callJson(PATH, { method: 'DELETE' }), t.recoveryAddressRemoved);
  };
  return (
    <Setting title={t.recoveryAddress} text={t.recoveryText}>
      {error && <p className="error-box">{error}</p>}
      {value?.email && (
        <p className="row">
          <span className="grow ellipsis">{value.email}</span>
          <span className="badge good">{t.confirmed}</span>
          <button type="button" className="quiet" onClick={remove}>
            {t.remove}
            <span className="visually-hidden"> {value.email}</span>
          </button>
        </p>
      )}
      {value?.works_from && (
        <p className="muted small">{fill(t.recoveryWorksFrom, { date: formatDateTime(value.works_from) })}</p>
      )}
      {value?.pending_email && (
        <form className="row" onSubmit={confirmCode}>
          <span className="grow ellipsis">{value.pending_email}</span>
          <input
            name="code"
            required
            autoComplete="one-time-code"
            aria-label={fill(t.codeSentTo, { pendingEmail: value.pending_email })}
            placeholder={t.code}
          />
          <button type="submit" className="primary">
            {t.confirm}
          </button>
        </form>
      )}
      <form className="row" onSubmit={set}>
        <input
          name="email"
          type="email"
          required
          maxLength={254}
          aria-label={t.newRecoveryAddress}
          placeholder="me@elsewhere.example"
        />
        <button type="submit">{t.sendCode}</button>
      </form>
    </Setting>
  );
}

/** This part is shown while a second factor is on. */
export function RecoveryCodes() {
  const profile = useStore(session, (state) => state.profile);
  const [codes, setCodes] = useState<string[] | null>(null);
  if (!profile?.totp_enabled) return null;
  const replace = () =>
    callJson<{ recovery_codes: string[] }>('/v1/me/totp/recovery-codes', { method: 'POST' }).then(
      (answer) => setCodes(answer.recovery_codes),
      showError,
    );
  return (
    <Setting title={t.recoveryCodes} text={fill(t.codesLeft, { count: String(profile.recovery_codes_left) })}>
      {codes ? (
        <div className="stack" role="status">
          <p>{t.keepCodes}</p>
          <pre>{codes.join('\n')}</pre>
          <div>
            <button type="button" onClick={() => void resumeSession().then(() => setCodes(null))}>
              {t.codesKept}
            </button>
          </div>
        </div>
      ) : (
        <div>
          <button type="button" onClick={() => void replace()}>
            {t.newCodes}
          </button>
        </div>
      )}
    </Setting>
  );
}
