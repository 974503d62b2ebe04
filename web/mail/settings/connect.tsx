/** The page that asks the person whether an agent may connect (OAuth). The authorization endpoint leads here. */
import { type FormEvent, useState } from 'react';
import type { AskedAgent } from '../../../workers/mail/schemas/agent.ts';
import { callJson } from '../../shared/api.ts';
import { go, toHash, useRoute } from '../../shared/hash-route.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { forgetAsked } from '../model/asked-connection.ts';

const t = mailSettingsTexts.agents;

type Consent = NonNullable<AskedAgent['consent']>;

/** The scopes of which the person chooses, and whether a new connection has them. */
const CHOICES = [
  { scope: 'mail:read', label: t.mayRead, isDefault: true },
  { scope: 'mail:draft', label: t.mayDraft, isDefault: true },
  { scope: 'mail:send', label: t.maySend, isDefault: false },
  { scope: 'mail:codes', label: t.mayReadCodes, isDefault: false },
];

export function ConnectPage() {
  const { query } = useRoute();
  const asked = query.toString();
  const { value, error } = useLoaded(
    () => callJson<AskedAgent>('/v1/me/connection-requests', { body: { query: asked } }),
    [asked],
  );
  return (
    <div className="card sign-in stack">
      <h1>{t.connectTitle}</h1>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {value === null && !error && <p className="muted loading">{t.connectLoading}</p>}
      {value?.consent && <Question consent={value.consent} declineUrl={value.redirect_to} />}
      {value && !value.consent && <WrongRequest url={value.redirect_to} />}
      {error && <Leave />}
    </div>
  );
}

function leave(url: string): void {
  forgetAsked();
  location.assign(url);
}

function Leave() {
  const end = () => {
    forgetAsked();
    go(toHash([]), { replace: true });
  };
  return (
    <button type="button" onClick={end}>
      {t.connectToMail}
    </button>
  );
}

/** The program asked for something that does not exist. Nothing leads away by itself, because anybody may make such a link. */
function WrongRequest({ url }: { url: string }) {
  const { host } = new URL(url);
  return (
    <>
      <p>{fill(t.connectWrong, { host })}</p>
      <div className="row">
        <Leave />
        <button type="button" onClick={() => leave(url)}>
          {fill(t.connectBack, { host })}
        </button>
      </div>
    </>
  );
}

function Question({ consent, declineUrl }: { consent: Consent; declineUrl: string }) {
  const [isBusy, setBusy] = useState(false);
  const { client_name: name, client_host: host, redirect_host: redirectHost } = consent;
  const approve = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const scopes = new FormData(event.currentTarget).getAll('scope').map(String);
    setBusy(true);
    callJson<{ redirect_to: string }>('/v1/me/connections', { body: { request: consent.request, scopes } }).then(
      ({ redirect_to }) => leave(redirect_to),
      (cause: unknown) => {
        setBusy(false);
        showError(cause);
      },
    );
  };
  return (
    <form className="stack" onSubmit={approve}>
      <p>{fill(t.connectAsks, { name, host })}</p>
      <dl className="counts program-lines">
        <div>
          <dt>{t.connectClient}</dt>
          <dd>{host}</dd>
        </div>
        <div>
          <dt>{t.connectRedirect}</dt>
          <dd>{consent.is_local ? fill(t.connectLocal, { host: redirectHost }) : redirectHost}</dd>
        </div>
      </dl>
      <p className="small">{consent.is_local ? t.connectLocalWarning : t.connectWarning}</p>
      <fieldset className="stack">
        <legend>{t.connectScopes}</legend>
        {CHOICES.map(({ scope, label, isDefault }) => (
          <label key={scope} className="check">
            <input type="checkbox" name="scope" value={scope} defaultChecked={isDefault} /> {label}
          </label>
        ))}
        <p className="muted small">{t.whyCodes}</p>
      </fieldset>
      <div className="row">
        <button type="submit" className="primary" disabled={isBusy}>
          {t.create}
        </button>
        <button type="button" disabled={isBusy} onClick={() => leave(declineUrl)}>
          {t.connectDecline}
        </button>
      </div>
    </form>
  );
}
