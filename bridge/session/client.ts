/** The account client: requests with one token, made of `fetch`. */
import type { MessagePage, Overview } from './account-api.ts';
import { ROWS_PER_PAGE } from './account-api.ts';

/** A socket of `/v1/events`. */
export interface EventSocket {
  send(text: string): void;
  close(): void;
}

export interface EventHandlers {
  onMessage(text: string): void;
  /** Called once, also if the connection was never made. */
  onClose(): void;
}

/** Services of the place where the session runs. */
export interface Network {
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** Opens a WebSocket with these headers. */
  readonly openEvents: (url: string, headers: Record<string, string>, handlers: EventHandlers) => EventSocket;
}

export interface ServerOptions {
  /** Origin of the Worker. */
  readonly server: string;
  /** Token of the scope `bridge`, with which the server believes the address of the client. */
  readonly bridgeToken?: string;
  readonly network: Network;
}

/** An answer other than 2xx, or none. */
export class RequestError extends Error {
  /** Status of HTTP; 0 if the server did not answer. */
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }

  /** Whether the credential does not open the account. A wrong token of the bridge itself is another fault. */
  get isRefusedLogin(): boolean {
    return (this.status === 401 || this.status === 403) && this.code !== 'bridge_token_invalid';
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

interface RequestOptions {
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly json?: unknown;
  readonly body?: ReadableStream<Uint8Array> | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether a second request does no harm. Such requests are repeated while the server does not answer. */
  readonly isRepeatable?: boolean;
}

const REPEAT_MS = [200, 1_000, 3_000];
const TIMEOUT_MS = 120_000;

export class Client {
  readonly token: string;
  readonly #options: ServerOptions;
  readonly #headers: Record<string, string>;

  constructor(options: ServerOptions, token: string, address: string) {
    this.token = token;
    this.#options = options;
    const trust = options.bridgeToken ? { 'x-bridge-token': options.bridgeToken, 'x-client-ip': address } : {};
    this.#headers = { authorization: `Bearer ${token}`, ...trust };
  }

  /** @throws RequestError */
  async readOverview(): Promise<Overview> {
    return this.json('GET', '/v1/imap', { isRepeatable: true });
  }

  /** Reads all rows of a folder. Starts again if it changes between two pages. @throws RequestError */
  async readFolder(folderId: string): Promise<MessagePage> {
    for (;;) {
      const pages: MessagePage[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const page: MessagePage = await this.json('GET', `/v1/imap/folders/${folderId}/messages`, {
          query: { after_uid: String(after), limit: String(ROWS_PER_PAGE) },
          isRepeatable: true,
        });
        pages.push(page);
        after = page.state === pages[0]?.state ? page.next_after_uid : null;
      }
      const [first] = pages;
      if (first && pages.every(({ state }) => state === first.state))
        return { ...first, messages: pages.flatMap(({ messages }) => messages) };
    }
  }

  /** @throws RequestError */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.send(method, path, options);
    return (response.status === 204 ? null : await response.json()) as T;
  }

  /** @returns a response of 2xx. @throws RequestError */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#sendOnce(method, path, options);
      } catch (error) {
        const pauseMs = REPEAT_MS[attempt];
        const isWorth = options.isRepeatable && pauseMs !== undefined && isTransient(error);
        if (!isWorth) throw error;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  openEvents(since: string, handlers: EventHandlers): EventSocket {
    const url = `${this.#options.server.replace(/^http/, 'ws')}/v1/events?since=${since}`;
    return this.#options.network.openEvents(url, this.#headers, handlers);
  }

  async #sendOnce(method: string, path: string, { query, json, body, headers }: RequestOptions): Promise<Response> {
    const content = json === undefined ? body : JSON.stringify(json);
    // The limit ends with the head of the answer: a client may read a large body for longer.
    const limit = new AbortController();
    const timer = body === undefined ? setTimeout(() => limit.abort(), TIMEOUT_MS) : undefined;
    let response: Response;
    try {
      response = await this.#options.network.fetch(`${this.#options.server}${path}${toQuery(query)}`, {
        method,
        redirect: 'manual',
        headers: {
          ...this.#headers,
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        signal: limit.signal,
        // A body that is read from a slow client takes as long as the client.
        ...(body === undefined ? {} : { duplex: 'half' }),
        ...(content === undefined ? {} : { body: content }),
      } as RequestInit);
    } catch (error) {
      throw new RequestError(0, 'no_answer', `The mail server does not answer: ${toReason(error)}`);
    } finally {
      clearTimeout(timer);
    }
    if (response.ok) return response;
    throw await toError(response);
  }
}

const isTransient = (error: unknown): boolean =>
  error instanceof RequestError && (error.status === 0 || error.status === 502 || error.status === 503);

/** @returns why `fetch` failed, without the address of the server. */
function toReason(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  return typeof cause?.code === 'string' ? cause.code : error instanceof Error ? error.name : 'unknown';
}

async function toError(response: Response): Promise<RequestError> {
  const problem = (await response.json().catch(() => null)) as { code?: unknown; detail?: unknown } | null;
  const code = typeof problem?.code === 'string' ? problem.code : 'unknown';
  const detail = typeof problem?.detail === 'string' ? problem.detail : `Status ${response.status}`;
  return new RequestError(response.status, code, detail);
}

function toQuery(query: RequestOptions['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    for (const each of value === undefined ? [] : typeof value === 'string' ? [value] : value)
      parameters.append(name, each);
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
