/** What to type into a mail program, with an app password that is made in the same step. */
import { type FormEvent, useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError } from '../../shared/toasts.tsx';
import type { Profile } from '../model/api.ts';
import { session } from '../model/session.ts';
import { toAppleProfile } from './apple-profile.ts';
import { Setting } from './setting.tsx';
import './devices.css';

const t = mailSettingsTexts.programs;

export function Devices() {
  const profile = useStore(session, (state) => state.profile);
  if (!profile) return null;
  return (
    <div className="stack-large">
      <div className="card setting-group">
        <h2>{t.title}</h2>
        {profile.mail_programs ? (
          <Programs profile={profile} bridge={profile.mail_programs} />
        ) : (
          <p className="muted">{t.notOffered}</p>
        )}
      </div>
    </div>
  );
}

type Bridge = NonNullable<Profile['mail_programs']>;

function Programs({ profile, bridge }: { profile: Profile; bridge: Bridge }) {
  const [password, setPassword] = useState<string | null>(null);
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name')).trim();
    callJson<{ token: string }>('/v1/me/tokens', { body: { name } }).then(({ token }) => setPassword(token), showError);
  };
  const rows: [string, string][] = [
    [t.userName, profile.email],
    [t.password, password ?? t.passwordBelow],
    [t.incoming, fill(t.server, { host: bridge.host, port: bridge.imap_port })],
    [t.outgoing, fill(t.server, { host: bridge.host, port: bridge.submission_port })],
    [t.security, t.tls],
  ];
  return (
    <>
      <Setting title={t.lines} text={t.linesText}>
        <dl className="counts program-lines">
          {rows.map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{label === t.password && password === null ? <span className="muted">{value}</span> : value}</dd>
            </div>
          ))}
        </dl>
        {password && (
          <p role="status" className="small">
            {t.once}
          </p>
        )}
      </Setting>
      <Setting title={t.newPassword} text={t.newPasswordText}>
        <form className="row" onSubmit={create}>
          <input name="name" required maxLength={128} aria-label={t.nameDevice} placeholder={t.nameDevice} />
          <button type="submit" className="primary">
            {t.create}
          </button>
        </form>
      </Setting>
      <Setting title={t.apple} text={t.appleText}>
        <div>
          <button type="button" onClick={() => saveProfile(profile, bridge)}>
            {t.appleSave}
          </button>
        </div>
      </Setting>
    </>
  );
}

function saveProfile({ email, name }: Profile, { host, imap_port, submission_port }: Bridge): void {
  const lines = { email, name, host, imapPort: imap_port, submissionPort: submission_port };
  const file = new Blob([toAppleProfile(lines, () => crypto.randomUUID())], {
    type: 'application/x-apple-aspen-config',
  });
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = 'mail.mobileconfig';
  link.click();
  URL.revokeObjectURL(url);
}
