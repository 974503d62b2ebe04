/** The recovery address, and new recovery codes. */
import { type FormEvent, useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { resumeSession, session } from '../model/session.ts';
import { Setting } from './setting.tsx';

interface Addresses {
  email: string | null;
  pending_email: string | null;
}
const { security: t } = mailTexts;
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
    void run(work, `A code was sent to ${email}.`);
  };
  const confirmCode = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code'));
    void run(callJson(`${PATH}/confirm`, { body: { code } }), 'The recovery address is confirmed.');
  };
  const remove = () => {
    if (!confirm('Remove the recovery address? Then a forgotten password needs the operator.')) return;
    void run(callJson(PATH, { method: 'DELETE' }), 'The recovery address is removed.');
  };
  return (
    <Setting title={t.recoveryAddress} text={t.recoveryText}>
      {error && <p className="error-box">{error}</p>}
      {value?.email && (
        <p className="row">
          <span className="grow ellipsis">{value.email}</span>
          <span className="badge good">confirmed</span>
          <button type="button" className="quiet" onClick={remove}>
            Remove<span className="visually-hidden"> {value.email}</span>
          </button>
        </p>
      )}
      {value?.pending_email && (
        <form className="row" onSubmit={confirmCode}>
          <span className="grow ellipsis">{value.pending_email}</span>
          <input
            name="code"
            required
            autoComplete="one-time-code"
            aria-label={`Code that was sent to ${value.pending_email}`}
            placeholder="Code"
          />
          <button type="submit" className="primary">
            Confirm
          </button>
        </form>
      )}
      <form className="row" onSubmit={set}>
        <input
          name="email"
          type="email"
          required
          maxLength={254}
          aria-label="New recovery address"
          placeholder="me@elsewhere.example"
        />
        <button type="submit">Send a code</button>
      </form>
    </Setting>
  );
}

/** Shown while a second factor is on. */
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
          <p>Keep these codes. The old ones no longer work.</p>
          <pre>{codes.join('\n')}</pre>
          <div>
            <button type="button" onClick={() => void resumeSession().then(() => setCodes(null))}>
              I have kept them
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
