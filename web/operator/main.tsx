/** `/_/operator`: the state of the service and maintenance jobs, with the operator's token. */
import { type FormEvent, useRef, useState } from 'react';
import type { WebConfig } from '../../workers/shared/web/web-config.ts';
import { callJson, describeError } from '../shared/api.ts';
import { useCommands } from '../shared/commands.ts';
import { isServed, useConfig } from '../shared/config.ts';
import { focusRegion } from '../shared/focus-keeper.ts';
import { go, toHash, useRoute } from '../shared/hash-route.ts';
import { mount, Rail } from '../shared/page.tsx';
import { PersonCheck, readChallenges, type Solution } from '../shared/person-check.tsx';
import { SignInFailure, SignInWith, SignInWithAccess, useSignInReturn } from '../shared/sign-in-with.tsx';
import { useStore } from '../shared/store.ts';
import { fill, texts } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { Audit } from './audit.tsx';
import { Boards } from './boards.tsx';
import { Domains } from './domains.tsx';
import { Sending } from './sending.tsx';
import './operator.css';
import { Outbound, Quarantine } from './outbound.tsx';
import { Overview } from './overview.tsx';
import { Quotas } from './quotas.tsx';
import { Storage } from './storage.tsx';
import { operator, requestJson, setToken, signOut } from './token.ts';
import { Tokens } from './tokens.tsx';
import { Users } from './users.tsx';

const t = operatorTexts.page;

/** Tabs: name, component, and the product that the tab needs (null: none). */
const TABS = [
  ['overview', Overview, null],
  ['outbound', Outbound, 'mail'],
  ['sending', Sending, 'mail'],
  ['quarantine', Quarantine, 'mail'],
  ['domains', Domains, 'mail'],
  ['storage', Storage, 'storage'],
  ['quotas', Quotas, 'storage'],
  ['boards', Boards, 'leaderboard'],
  ['users', Users, null],
  ['tokens', Tokens, null],
  ['audit', Audit, null],
] as const;
const { tabs: labels } = operatorTexts;

/** Sign-in form for an operator's user account, as an alternative to a token. */
function PersonSignIn() {
  const [error, setError] = useState<string | null>(null);
  const [challenged, setChallenged] = useState<{ login: string; challenges: readonly string[] } | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const logIn = async (solution: Partial<Solution>) => {
    if (form.current === null) return;
    const fields = new FormData(form.current);
    const login = String(fields.get('login')).trim();
    const body = {
      login,
      password: String(fields.get('password')),
      totp: String(fields.get('totp')).replaceAll(/\s/g, ''),
      ...solution,
    };
    try {
      setToken((await callJson<{ token: string }>('/v1/operators/login', { body })).token);
    } catch (cause) {
      const challenges = readChallenges(cause);
      setChallenged(challenges && { login, challenges });
      setError(describeError(cause));
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void logIn({});
  };
  return (
    <form className="card sign-in stack" onSubmit={submit} ref={form}>
      <h1>{t.operator}</h1>
      <label className="field">
        <span>{t.login}</span>
        <input name="login" required autoComplete="username" />
      </label>
      <label className="field">
        <span>{t.password}</span>
        <input name="password" type="password" required autoComplete="current-password" />
      </label>
      <label className="field">
        <span>{t.codeFromYourAuthenticator}</span>
        <input name="totp" required inputMode="numeric" autoComplete="one-time-code" />
      </label>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {challenged ? (
        <PersonCheck
          challenges={challenged.challenges}
          subject={`operator ${challenged.login.toLowerCase()}`}
          onSolved={logIn}
        />
      ) : (
        <button type="submit" className="primary">
          {t.logIn}
        </button>
      )}
    </form>
  );
}

function TokenSignIn() {
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get('token')).trim();
    try {
      // Test the token with a request that every operator's token allows.
      await requestJson('/v1/collectors', { token });
      setToken(token);
      // After signing in, the form is gone. Move the focus to the start of the content, not to one of the tabs.
      requestAnimationFrame(() => focusRegion(document.getElementById('main')));
    } catch (cause) {
      setError(describeError(cause));
    }
  };
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h2>{t.withToken}</h2>
      <label className="field">
        <span>{t.token}</span>
        <input name="token" type="password" required autoComplete="off" />
        <small>{t.tokenHint}</small>
      </label>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      <button type="submit" className="primary">
        {t.goOn}
      </button>
    </form>
  );
}

/** Opens a session of an operator with what the provider, or Cloudflare Access, says. */
const openSession = async (path: string) =>
  setToken((await callJson<{ token: string }>(path, { method: 'POST' })).token);
const SIGN_INS = { operator: () => openSession('/v1/operators/oidc') };
const signInWithAccess = () => openSession('/v1/operators/access');

interface CompanyProps {
  config: WebConfig | null;
  failure: string | null;
  isFinishing: boolean;
}

/** The sign-in with the company's account, if the deployment has one. */
function CompanySignIn({ config, failure, isFinishing }: CompanyProps) {
  const [error, setError] = useState<string | null>(null);
  if (isFinishing) return <p className="muted loading">{t.signingIn}</p>;
  if (!config?.sign_in_with && !config?.access) return null;
  const shown = error ?? failure;
  return (
    <div className="card sign-in stack">
      {config.passwords ? <h2>{t.withCompany}</h2> : <h1>{t.operator}</h1>}
      {config.sign_in_with && <SignInWith name={config.sign_in_with} purpose="operator" onError={setError} />}
      {config.access && <SignInWithAccess signIn={signInWithAccess} onError={setError} />}
      <SignInFailure text={shown} />
    </div>
  );
}

function Operator() {
  const token = useStore(operator, (state) => state.token);
  const { parts } = useRoute();
  const config = useConfig();
  const returned = useSignInReturn(SIGN_INS);
  const tabs = TABS.filter(([, , product]) => product === null || isServed(config, product));
  const [name, View] = tabs.find(([tab]) => tab === parts[0]) ?? TABS[0];
  useCommands(() =>
    token
      ? tabs.map(([tab]) => ({
          title: fill(texts.app.palette.open, { name: `${texts.app.pages.operator} → ${labels[tab]}` }),
          icon: 'operator' as const,
          run: () => go(toHash([tab])),
        }))
      : [],
  );
  return (
    <>
      <Rail
        current="operator"
        account={
          token ? { name: texts.app.pages.operator, detail: texts.app.operator.account, onSignOut: signOut } : null
        }
      />
      <main id="main">
        {!token && (
          <>
            <CompanySignIn config={config} failure={returned.error} isFinishing={returned.isFinishing} />
            {config?.passwords !== false && <PersonSignIn />}
            <TokenSignIn />
          </>
        )}
        {token && (
          <div className="page stack-large">
            <h1 className="visually-hidden">{t.operator}</h1>
            <nav className="tabs" aria-label={t.operator}>
              {tabs.map(([tab]) => (
                <a key={tab} href={toHash([tab])} aria-current={tab === name ? 'page' : undefined}>
                  {labels[tab]}
                </a>
              ))}
            </nav>
            <View />
          </div>
        )}
      </main>
    </>
  );
}

mount(<Operator />, 'operator');
