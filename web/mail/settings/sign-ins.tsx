/** The company's accounts that open this mailbox, and the button that connects one. */
import { callJson, confirmSession } from '../../shared/api.ts';
import { useConfig } from '../../shared/config.ts';
import { formatDateTime } from '../../shared/format.ts';
import { startSignIn } from '../../shared/sign-in-with.tsx';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { Setting } from './setting.tsx';

const { security: t } = mailSettingsTexts;

interface SignIn {
  sign_in_id: string;
  issuer: string;
  created_at: string;
}

/** Connects an account in a confirmed session, which is asked for before the page is left. */
async function connect(): Promise<void> {
  if (await confirmSession()) await startSignIn('bind');
}

export function SignIns() {
  const name = useConfig()?.sign_in_with ?? null;
  const { value } = useLoaded(() => callJson<{ data: SignIn[] }>('/v1/me/sign-ins'), []);
  const rows = value?.data ?? [];
  if (name === null && rows.length === 0) return null;
  return (
    <Setting title={t.companySignIn} text={t.companySignInText}>
      <ul className="plain-list filter-list">
        {rows.map((row) => (
          <li key={row.sign_in_id}>
            <span className="grow">
              <bdi>{new URL(row.issuer).host}</bdi>{' '}
              <span className="muted small setting-detail">
                {fill(t.connectedSince, { createdAt: formatDateTime(row.created_at) })}
              </span>
            </span>
          </li>
        ))}
      </ul>
      {name !== null && value !== null && rows.length === 0 && (
        <div>
          <button type="button" onClick={() => void connect().catch(showError)}>
            {fill(t.connect, { name })}
          </button>
        </div>
      )}
    </Setting>
  );
}
