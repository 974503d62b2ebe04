/** Pulls mail from another mailbox by IMAP: a form, and the progress of the pulls that there are. */
import { type FormEvent, useEffect, useState } from 'react';
import { callJson, describeError } from '../../shared/api.ts';
import { formatCount, formatDateTime } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { useLoaded } from '../../shared/use-loaded.ts';

const t = mailSettingsTexts.pulls;

interface Pull {
  id: string;
  host: string;
  user_name: string;
  state: 'connected' | 'waiting' | 'ended';
  fault: keyof typeof t.faults | null;
  imported: number;
  duplicates: number;
  failed: number;
  remaining: number;
  passes: number;
  next_at: string | null;
}

type Provider = keyof typeof t.providers;
const PROVIDERS = Object.keys(t.providers) as Provider[];
/** Progress is saved every ten seconds, and a short mailbox needs less. */
const LOOK_MS = 3_000;

function describeState(pull: Pull): string {
  if (pull.state === 'ended') return t.states.ended;
  if (pull.state === 'connected') return fill(t.states.connected, { remaining: formatCount(pull.remaining) });
  const isUpToDate = pull.passes > 0 && pull.remaining === 0 && pull.fault === null;
  const time = pull.next_at === null ? '' : formatDateTime(pull.next_at);
  return fill(isUpToDate ? t.states.upToDate : t.states.waiting, { time });
}

function PullRow({ pull, onEnd }: { pull: Pull; onEnd: () => void }) {
  const { imported, duplicates, failed } = pull;
  const counts = { imported: formatCount(imported), duplicates: formatCount(duplicates), failed: formatCount(failed) };
  return (
    <li>
      <div className="grow">
        <p>
          <strong>{pull.user_name}</strong> <span className="muted">{pull.host}</span>
        </p>
        <p className="small">{fill(t.counts, counts)}</p>
        <p className="small muted">{describeState(pull)}</p>
        {pull.fault && <p className="small warning-text">{t.faults[pull.fault]}</p>}
      </div>
      <button type="button" className="quiet" onClick={onEnd}>
        {t.end}
        <span className="visually-hidden"> {pull.user_name}</span>
      </button>
    </li>
  );
}

function Fields({ provider }: { provider: Provider }) {
  return (
    <>
      <label className="field">
        <span>{t.host}</span>
        <input
          key={provider}
          name="host"
          required
          maxLength={253}
          defaultValue={t.providers[provider].host}
          placeholder="imap.example.com"
          autoCapitalize="none"
          spellCheck={false}
        />
      </label>
      <label className="field">
        <span>{t.port}</span>
        <select name="port">
          <option value="993">{t.ports[993]}</option>
          <option value="143">{t.ports[143]}</option>
        </select>
      </label>
      <label className="field">
        <span>{t.userName}</span>
        <input name="user_name" required maxLength={320} autoCapitalize="none" autoComplete="off" spellCheck={false} />
        <small className="muted">{t.userNameHint}</small>
      </label>
      <label className="field">
        <span>{t.secretKind}</span>
        <select name="kind" key={provider} defaultValue={provider === 'outlook' ? 'oauth_token' : 'password'}>
          <option value="password">{t.secretKinds.password}</option>
          <option value="oauth_token">{t.secretKinds.oauth_token}</option>
        </select>
      </label>
      <label className="field">
        <span>{t.secret}</span>
        <input name="secret" type="password" required maxLength={8000} autoComplete="off" />
        <small className="muted">{t.secretHint}</small>
      </label>
    </>
  );
}

/** @param onStart starts a pull with the body of its request, and says whether that succeeded. */
function PullForm({ onStart }: { onStart: (body: object) => Promise<boolean> }) {
  const [provider, setProvider] = useState<Provider>('gmail');
  const { note } = t.providers[provider];
  const start = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name)).trim();
    const secret = { [read('kind')]: read('secret') };
    const server = { host: read('host').toLowerCase(), port: Number(read('port')), user_name: read('user_name') };
    void onStart({ ...server, ...secret }).then((isStarted) => isStarted && form.reset());
  };
  return (
    <>
      <label className="field">
        <span>{t.provider}</span>
        <select value={provider} onChange={(event) => setProvider(event.target.value as Provider)}>
          {PROVIDERS.map((one) => (
            <option key={one} value={one}>
              {t.providers[one].name}
            </option>
          ))}
        </select>
      </label>
      {note && <p className="small">{note}</p>}
      {provider !== 'proton' && (
        <form className="stack" onSubmit={start}>
          <Fields provider={provider} />
          <div className="row wrap">
            <button type="submit" className="primary">
              {t.start}
            </button>
          </div>
        </form>
      )}
    </>
  );
}

const loadPulls = async () => (await callJson<{ items: Pull[] }>('/v1/import/pulls')).items;

export function Pulls() {
  const { value, error, reload } = useLoaded(loadPulls, []);
  const [note, setNote] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isOpen = value?.some((pull) => pull.state !== 'ended') ?? false;
  useEffect(() => {
    if (!isOpen) return;
    const timer = setInterval(reload, LOOK_MS);
    return () => clearInterval(timer);
  }, [isOpen, reload]);
  const run = async (work: Promise<unknown>, done: string) => {
    setProblem(null);
    setNote(null);
    const failure = await work.then(
      () => null,
      (cause: unknown) => describeError(cause),
    );
    if (failure === null) setNote(done);
    setProblem(failure);
    reload();
    return failure === null;
  };
  const end = ({ id }: Pull) => void run(callJson(`/v1/import/pulls/${id}`, { method: 'DELETE' }), t.ended);
  return (
    <section className="card stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <p className="muted">{t.text}</p>
      <PullForm onStart={(body) => run(callJson('/v1/import/pulls', { body }), t.started)} />
      {(problem ?? error) && (
        <p className="error-box" role="alert">
          {problem ?? error}
        </p>
      )}
      <div role="status">{note && <p className="good-text">{note}</p>}</div>
      {value && value.length > 0 && (
        <ul className="plain-list filter-list" aria-label={t.pulls}>
          {value.map((pull) => (
            <PullRow key={pull.id} pull={pull} onEnd={() => end(pull)} />
          ))}
        </ul>
      )}
    </section>
  );
}
