/** Settings: one page per topic, loaded when the user opens it. */
import { lazy, Suspense, useState } from 'react';
import { callJson, describeError } from '../../shared/api.ts';
import { formatDateTime } from '../../shared/format.ts';
import { toHash } from '../../shared/hash-route.ts';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { KeptForm } from '../../shared/unsaved.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import type { Profile } from '../model/api.ts';
import { session } from '../model/session.ts';
import type { Vacation } from '../model/settings-api.ts';
import { MaskedAddresses } from './masked-addresses.tsx';
import { Notifications } from './notifications.tsx';
import { OwnAddresses } from './own-addresses.tsx';

const t = mailSettingsTexts.profile;

const Contacts = lazy(() => import('./contacts.tsx').then((module) => ({ default: module.Contacts })));
const Devices = lazy(() => import('./devices.tsx').then((module) => ({ default: module.Devices })));
const Filters = lazy(() => import('./filters.tsx').then((module) => ({ default: module.Filters })));
const Senders = lazy(() => import('./senders.tsx').then((module) => ({ default: module.Senders })));
const Security = lazy(() => import('./security.tsx').then((module) => ({ default: module.Security })));
const Transfer = lazy(() => import('../transfer/transfer.tsx').then((module) => ({ default: module.Transfer })));

function ProfileForm() {
  const profile = useStore(session, (state) => state.profile);
  const [error, setError] = useState<string | null>(null);
  if (!profile) return null;
  const save = async (form: FormData) => {
    try {
      const body = { name: String(form.get('name')).trim(), signature: String(form.get('signature')) };
      session.set({ profile: await callJson<Profile>('/v1/me', { method: 'PATCH', body }) });
      setError(null);
      showToast(t.saved);
    } catch (cause) {
      setError(describeError(cause));
      throw cause;
    }
  };
  return (
    <KeptForm name={`${profile.user_id}.profile`} className="card stack" onSave={save}>
      <p className="muted">
        {fill(t.identity, { email: profile.email, createdAt: formatDateTime(profile.created_at) })}
      </p>
      <label className="field">
        <span>{t.yourName}</span>
        <input name="name" dir="auto" defaultValue={profile.name} required maxLength={128} autoComplete="name" />
      </label>
      <label className="field">
        <span>{t.signature}</span>
        <textarea name="signature" defaultValue={profile.signature} maxLength={10_000} />
        <small>{t.signatureHint}</small>
      </label>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      <div>
        <button type="submit" className="primary">
          {t.save}
        </button>
      </div>
    </KeptForm>
  );
}

function You() {
  return (
    <div className="stack-large">
      <ProfileForm />
      <OwnAddresses />
      <MaskedAddresses />
      <Notifications />
    </div>
  );
}

const toLocal = (iso: string | null) => {
  if (!iso) return '';
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};
const toIso = (local: FormDataEntryValue | null) => (local ? new Date(String(local)).toISOString() : null);

function VacationForm() {
  const { value, error, reload } = useLoaded(() => callJson<Vacation>('/v1/me/vacation'), []);
  const owner = useStore(session, (state) => state.profile?.user_id);
  if (error) return <p className="error-box">{error}</p>;
  if (!value) return null;
  const save = async (form: FormData) => {
    const body: Vacation = {
      enabled: form.get('enabled') === 'on',
      subject: String(form.get('subject')).trim(),
      body: String(form.get('body')),
      starts_at: toIso(form.get('starts_at')),
      ends_at: toIso(form.get('ends_at')),
    };
    try {
      await callJson('/v1/me/vacation', { method: 'PUT', body });
    } catch (cause) {
      showError(cause);
      throw cause;
    }
    showToast(body.enabled ? t.awayNow : t.saved);
    reload();
  };
  return (
    <KeptForm name={`${owner}.vacation`} className="stack" onSave={save}>
      <p className="muted">{t.awayText}</p>
      <label className="check">
        <input type="checkbox" name="enabled" defaultChecked={value.enabled} /> {t.away}
      </label>
      <label className="field">
        <span>{t.subject}</span>
        <input name="subject" dir="auto" defaultValue={value.subject} maxLength={200} placeholder={t.awaySubject} />
      </label>
      <label className="field">
        <span>{t.answer}</span>
        <textarea name="body" defaultValue={value.body} maxLength={10_000} />
      </label>
      <div className="row wrap">
        <label className="field grow">
          <span>{t.from}</span>
          <input name="starts_at" type="datetime-local" defaultValue={toLocal(value.starts_at)} />
        </label>
        <label className="field grow">
          <span>{t.until}</span>
          <input name="ends_at" type="datetime-local" defaultValue={toLocal(value.ends_at)} />
        </label>
      </div>
      <div>
        <button type="submit" className="primary">
          {t.save}
        </button>
      </div>
    </KeptForm>
  );
}

const TABS = [
  ['profile', t.tabs.profile, You],
  ['contacts', t.tabs.contacts, Contacts],
  ['filters', t.tabs.filters, Filters],
  ['senders', t.tabs.senders, Senders],
  ['vacation', t.tabs.vacation, VacationForm],
  ['devices', t.tabs.devices, Devices],
  ['security', t.tabs.security, Security],
  ['transfer', t.tabs.transfer, Transfer],
] as const;

export function Settings({ tab }: { tab: string }) {
  const [name, , View] = TABS.find(([one]) => one === tab) ?? TABS[0];
  return (
    <>
      <div className="row">
        <h1 className="grow">{t.settings}</h1>
        <a className="button" href={toHash([])}>
          {t.backToMail}
        </a>
      </div>
      <nav className="tabs" aria-label={t.settings}>
        {TABS.map(([one, label]) => (
          <a key={one} href={toHash(['settings', one])} aria-current={one === name ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <div className="settings-body">
        <Suspense fallback={<p className="muted">{t.loading}</p>}>
          <View />
        </Suspense>
      </div>
    </>
  );
}
