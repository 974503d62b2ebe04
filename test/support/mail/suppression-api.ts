/**
 * A stand-in for the suppression list of Cloudflare's API, as strict as its documentation:
 * https://developers.cloudflare.com/email-service/configuration/suppressions/ (November 2026). Its `fetch` replaces the global one.
 */

export interface SuppressionApi {
  readonly url: string;
  readonly token: string;
  readonly fetch: typeof fetch;
  /** Received requests as `METHOD path?query`. */
  readonly requests: string[];
  isDown: boolean;
  add(entry: NewEntry): string;
}

interface NewEntry {
  readonly email: string;
  readonly reason: string;
  readonly expiresAt: number | null;
  readonly domain?: string;
  readonly isReadOnly?: boolean;
}

interface Entry {
  readonly id: string;
  readonly email: string;
  readonly reason: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly read_only: boolean;
  readonly scope: { readonly type: string; readonly value?: string };
}

const URL_OF_API = 'https://api.cloudflare.test/client/v4/accounts/a/email/sending';
const TOKEN = 'token-of-mail';

function answer(status: number, result: unknown, info: object = {}): Response {
  const errors = status < 400 ? [] : [{ code: 1000 + status, message: `refused with ${status}` }];
  return Response.json({ success: status < 400, errors, messages: [], result, result_info: info }, { status });
}

export function createSuppressionApi(): SuppressionApi {
  const entries = new Map<string, Entry>();
  const requests: string[] = [];

  function list(query: URLSearchParams): Response {
    const limit = Number(query.get('per_page') ?? 50);
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000) return answer(400, null);
    const from = Number(query.get('cursor') ?? 0);
    const email = query.get('email')?.toLowerCase();
    const found = [...entries.values()].filter((entry) => email === undefined || entry.email === email);
    const next = from + limit < found.length ? String(from + limit) : null;
    return answer(200, found.slice(from, from + limit), { count: limit, per_page: limit, next_cursor: next });
  }

  function one(method: string, id: string): Response {
    const entry = entries.get(id);
    if (!entry) return answer(404, null);
    if (method === 'GET') return answer(200, entry);
    if (method !== 'DELETE') return answer(405, null);
    if (entry.read_only) return answer(403, null);
    entries.delete(id);
    return answer(200, { id });
  }

  const api: SuppressionApi = {
    url: URL_OF_API,
    token: TOKEN,
    requests,
    isDown: false,
    add({ email, reason, expiresAt, domain, isReadOnly = false }) {
      const id = crypto.randomUUID();
      entries.set(id, {
        ...{ id, email: email.toLowerCase(), reason, created_at: new Date().toISOString(), read_only: isReadOnly },
        expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
        scope: domain === undefined ? { type: 'account' } : { type: 'sending_domain', value: domain },
      });
      return id;
    },
    fetch: (async (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input as string, init);
      const url = new URL(request.url);
      requests.push(`${request.method} ${url.pathname}${url.search}`);
      if (api.isDown) throw new Error('Network connection lost');
      if (request.headers.get('authorization') !== `Bearer ${TOKEN}`) return answer(403, null);
      const path = `${url.origin}${url.pathname}`;
      if (path === `${URL_OF_API}/suppressions` && request.method === 'GET') return list(url.searchParams);
      const id = path.startsWith(`${URL_OF_API}/suppressions/`) ? path.slice(`${URL_OF_API}/suppressions/`.length) : '';
      return id === '' ? answer(404, null) : one(request.method, decodeURIComponent(id));
    }) as typeof fetch,
  };
  return api;
}
