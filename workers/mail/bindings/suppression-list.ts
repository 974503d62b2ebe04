/**
 * The suppression list of Cloudflare Email Service: addresses to which it sends nothing, because they bounced or complained. It is one
 * list for all senders of the account or of a sending domain.
 * https://developers.cloudflare.com/email-service/configuration/suppressions/
 */
import { settingsOf } from '../../shared/settings/settings.ts';

export interface Suppression {
  readonly id: string;
  readonly email: string;
  /** `manual`, `complaint`, `hard_bounce`, `soft_bounce` or `policy`. */
  readonly reason: string;
  /** Sending domain to which the entry applies; null for all domains of the account. */
  readonly domain: string | null;
  readonly createdAt: number;
  /** Time at which the entry ends; null if it does not end. */
  readonly expiresAt: number | null;
  /** Whether Cloudflare lets nobody lift the entry. */
  readonly isReadOnly: boolean;
}

export interface SuppressionPage {
  readonly entries: readonly Suppression[];
  readonly nextCursor: string | null;
}

export interface SuppressionList {
  /** The active entries of an address. A page may be empty although there are more. @throws if the API does not answer. */
  readonly list: (query: { email?: string; cursor?: string; limit: number }) => Promise<SuppressionPage>;
  /** @returns null if there is no such entry. */
  readonly find: (id: string) => Promise<Suppression | null>;
  /** Removes an entry. @returns false if there is none, or if Cloudflare refuses. */
  readonly lift: (id: string) => Promise<boolean>;
}

interface Entry {
  readonly id: string;
  readonly email: string;
  readonly reason: string;
  readonly created_at: string;
  readonly expires_at?: string | null;
  readonly read_only?: boolean;
  readonly scope?: { readonly type?: string; readonly value?: string };
}

interface Envelope {
  readonly success?: boolean;
  readonly result?: unknown;
  readonly result_info?: { readonly next_cursor?: string | null };
  readonly errors?: readonly { readonly message?: string }[];
}

const TIMEOUT_MS = 10_000;

const toSuppression = (entry: Entry): Suppression => ({
  id: entry.id,
  email: entry.email,
  reason: entry.reason,
  domain: entry.scope?.type === 'sending_domain' ? (entry.scope.value?.toLowerCase() ?? null) : null,
  createdAt: Date.parse(entry.created_at),
  expiresAt: entry.expires_at ? Date.parse(entry.expires_at) : null,
  isReadOnly: entry.read_only === true,
});

/** @returns null if the secret CLOUDFLARE_MAIL_TOKEN is not set. @throws MisconfiguredError if a setting has a bad value. */
export function openSuppressionList(env: Env): SuppressionList | null {
  const { CLOUDFLARE_MAIL_TOKEN: token, MAIL_API_URL: url } = settingsOf(env);
  if (token === '' || url === '') return null;
  const call = async (method: string, path: string): Promise<Envelope & { readonly status: number }> => {
    const response = await fetch(`${url.replace(/\/+$/, '')}/suppressions${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const envelope = (await response.json().catch(() => ({}))) as Envelope;
    const isExpected = response.ok || (response.status === 404 && path.startsWith('/'));
    if (isExpected || (method === 'DELETE' && response.status === 403)) return { ...envelope, status: response.status };
    const reason = envelope.errors?.[0]?.message ?? 'no reason given';
    throw new Error(`Cloudflare's suppression list answers ${response.status}: ${reason}`);
  };
  return {
    async list({ email, cursor, limit }) {
      const query = new URLSearchParams({
        per_page: String(limit),
        ...(email && { email }),
        ...(cursor && { cursor }),
      });
      const { result, result_info } = await call('GET', `?${query}`);
      return { entries: (result as Entry[]).map(toSuppression), nextCursor: result_info?.next_cursor ?? null };
    },
    async find(id) {
      const { status, result } = await call('GET', `/${encodeURIComponent(id)}`);
      return status === 404 ? null : toSuppression(result as Entry);
    },
    async lift(id) {
      return (await call('DELETE', `/${encodeURIComponent(id)}`)).status === 200;
    },
  };
}
