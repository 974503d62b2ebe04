/** Agents: messages that wait for the person, connections, and addresses to which agents may send without asking. */
import { type FormEvent, useState } from 'react';
import type { z } from 'zod';
import type { waitingSchema } from '../../../workers/mail/schemas/agent.ts';
import { callJson, type Page } from '../../shared/api.ts';
import { formatDateTime } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { Setting } from './setting.tsx';
import './devices.css';

const t = mailSettingsTexts.agents;

type WaitingMessage = z.infer<typeof waitingSchema>;
interface Token {
  token_id: string;
  name: string;
  scopes: string[];
  created_at: string;
  last_used_at: string | null;
  client_id: string | null;
}
const TOKENS = '/v1/me/tokens';
const WAITING = '/v1/me/waiting-messages';
const MCP_URL = `${location.origin}/v1/mcp`;
const RECIPIENTS = '/v1/me/agent-recipients';

export function Agents() {
  const { value, reload } = useLoaded(async () => {
    const page = await callJson<Page<Token>>(`${TOKENS}?limit=200`);
    return page.data.filter(({ scopes }) => scopes.some((scope) => scope.startsWith('mail:')));
  }, []);
  return (
    <div className="stack-large">
      <Waiting tokens={value ?? []} />
      <div className="card setting-group">
        <h2>{t.title}</h2>
        <Connections tokens={value ?? []} onChange={reload} />
        <NewConnection onMade={reload} />
        <Recipients />
      </div>
    </div>
  );
}

function Waiting({ tokens }: { tokens: readonly Token[] }) {
  const { value, error, reload } = useLoaded(() => callJson<WaitingMessage[]>(WAITING), []);
  return (
    <section className="card stack" aria-label={t.waiting}>
      <h2>{t.waiting}</h2>
      <p className="muted small">{t.waitingText}</p>
      {error && <p className="error-box">{error}</p>}
      {value?.length === 0 && <p className="muted">{t.nothingWaits}</p>}
      {value?.map((message) => (
        <WaitingCard
          key={message.id}
          message={message}
          agent={tokens.find(({ token_id }) => token_id === message.token_id)?.name ?? t.unknownAgent}
          onDone={reload}
        />
      ))}
    </section>
  );
}

interface CardProps {
  message: WaitingMessage;
  agent: string;
  onDone: () => void;
}

/** One message with everything that will leave. The approval names what is shown here. */
function WaitingCard({ message, agent, onDone }: CardProps) {
  const [isBusy, setBusy] = useState(false);
  const path = `${WAITING}/${encodeURIComponent(message.id)}`;
  const decide = (call: () => Promise<unknown>, done: string) => {
    setBusy(true);
    call()
      .then(() => showToast(done), showError)
      .finally(() => {
        setBusy(false);
        onDone();
      });
  };
  const approval = { recipients: [...message.to, ...message.cc], sha256: message.sha256 };
  const lines: [string, string][] = [
    [t.from, message.from ?? t.yourAddress],
    [t.to, message.to.join(', ')],
    [t.cc, message.cc.join(', ')],
    [t.subject, message.subject],
    [t.files, message.file_names.join(', ')],
  ];
  return (
    <article className="stack" aria-label={message.subject}>
      <p className="muted small">{fill(t.asked, { agent, when: formatDateTime(message.waiting_since) })}</p>
      <dl className="counts program-lines">
        {lines
          .filter(([, text]) => text !== '')
          .map(([label, text]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd dir="auto">{text}</dd>
            </div>
          ))}
      </dl>
      <pre className="waiting-body" dir="auto">
        {message.body}
      </pre>
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={isBusy}
          onClick={() => decide(() => callJson(`${path}/send`, { body: approval }), t.sent)}
        >
          {t.send}
        </button>
        <button
          type="button"
          disabled={isBusy}
          onClick={() => decide(() => callJson(path, { method: 'DELETE' }), t.declined)}
        >
          {t.decline}
        </button>
      </div>
    </article>
  );
}

function Connections({ tokens, onChange }: { tokens: readonly Token[]; onChange: () => void }) {
  const revoke = ({ token_id }: Token) =>
    callJson(`${TOKENS}/${encodeURIComponent(token_id)}`, { method: 'DELETE' }).then(onChange, showError);
  return (
    <Setting title={t.connections} text={t.connectionsText}>
      <ul className="plain-list filter-list">
        {tokens.map((one) => (
          <li key={one.token_id}>
            <span className="grow">
              <span className="ellipsis">{one.name}</span>
              <span className="muted small ellipsis">{describe(one)}</span>
            </span>
            <button type="button" className="quiet" onClick={() => void revoke(one)}>
              {t.end}
              <span className="visually-hidden"> {one.name}</span>
            </button>
          </li>
        ))}
      </ul>
    </Setting>
  );
}

function describe({ scopes, client_id }: Token): string {
  const names = scopes.map((scope) => t.scopes[scope as keyof typeof t.scopes] ?? scope).join(' · ');
  return client_id === null ? names : fill(t.viaClient, { scopes: names, host: new URL(client_id).host });
}

function NewConnection({ onMade }: { onMade: () => void }) {
  const [token, setToken] = useState<string | null>(null);
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = new FormData(form);
    const scopes = ['mail:read', 'mail:draft', ...fields.getAll('scope').map(String)];
    const body = { name: String(fields.get('name')).trim(), scopes };
    callJson<{ token: string }>(TOKENS, { body }).then((made) => {
      form.reset();
      setToken(made.token);
      onMade();
    }, showError);
  };
  return (
    <Setting title={t.newConnection} text={fill(t.newConnectionText, { url: MCP_URL })}>
      <form className="stack" onSubmit={create}>
        <input name="name" required maxLength={128} aria-label={t.name} placeholder={t.name} />
        <label className="check">
          <input type="checkbox" name="scope" value="mail:send" /> {t.maySend}
        </label>
        <label className="check">
          <input type="checkbox" name="scope" value="mail:codes" /> {t.mayReadCodes}
        </label>
        <p className="muted small">{t.whyCodes}</p>
        <div>
          <button type="submit" className="primary">
            {t.create}
          </button>
        </div>
      </form>
      {token && (
        <div className="stack" role="status">
          <p>{t.once}</p>
          <code className="break">{token}</code>
          <p className="small">{fill(t.address, { url: MCP_URL })}</p>
        </div>
      )}
    </Setting>
  );
}

function Recipients() {
  const { value, reload } = useLoaded(() => callJson<{ emails: string[] }>(RECIPIENTS), []);
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('emails'));
    const emails = text.split(/[\s,;]+/).filter((email) => email !== '');
    callJson(RECIPIENTS, { method: 'PUT', body: { emails } }).then(() => {
      showToast(t.recipientsSaved);
      reload();
    }, showError);
  };
  return (
    <Setting title={t.recipients} text={t.recipientsText}>
      <form className="stack" onSubmit={save}>
        <textarea
          key={value?.emails.join()}
          name="emails"
          aria-label={t.recipients}
          defaultValue={value?.emails.join('\n')}
        />
        <div>
          <button type="submit">{t.save}</button>
        </div>
      </form>
    </Setting>
  );
}
