/**
 * Push over an event stream (RFC 8620 §7.3). The Worker holds the client's stream and a WebSocket to the mailbox, so that the
 * mailbox may hibernate. The mailbox closes the WebSocket when the credential is revoked.
 */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  JMAP_TYPES,
  type JmapType,
  listChangedTypes,
} from '../../../../durable-objects/mail/contract/changed-types.ts';
import type { EventMessage } from '../../../../durable-objects/mail/contract/changes.ts';

import { requireMailClient } from '../../../identity/index.ts';
import { type JsonApiEnv, problemResponses, sendProblem, unchecked } from '../../../shared/json/json-api.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { MAILBOX_UNAVAILABLE } from '../../schemas/errors.ts';
import { JMAP_ROUTE } from './jmap-route.ts';

const PING_SECONDS_MIN = 5;
const PING_SECONDS_MAX = 900;

const eventQuerySchema = z.strictObject({
  types: z.string().max(1_000).default('*'),
  closeafter: z.enum(['state', 'no']).default('no'),
  ping: z.coerce.number().int().min(0).max(86_400).default(0),
});

export function addEventSource(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...JMAP_ROUTE,
      method: 'get',
      path: '/v1/jmap/event-source',
      operationId: 'watchJmap',
      summary: 'JMAP: receive state changes as an event stream',
      request: { query: eventQuerySchema },
      responses: {
        200: {
          description: 'Events `state`, and `ping` if asked for',
          content: { 'text/event-stream': { schema: { type: 'string' as const } } },
        },
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const caller = await requireMailClient(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { types, closeafter, ping } = c.req.valid('query');
      const { userId, credentialId, expiresAt } = caller.value;
      const target = new URL('https://mailbox/events');
      target.searchParams.set('credential', credentialId);
      if (expiresAt !== null) target.searchParams.set('expires', String(expiresAt));
      const since = c.req.header('last-event-id') ?? '';
      if (/^\d{1,15}$/.test(since)) target.searchParams.set('since', since);
      try {
        const answer = await openMailbox(c.env, userId).fetch(target, { headers: { upgrade: 'websocket' } });
        if (!answer.webSocket) return sendProblem(c, MAILBOX_UNAVAILABLE);
        const stream = new EventStream(answer.webSocket, {
          accountId: userId,
          types: new Set(types === '*' ? JMAP_TYPES : types.split(',')),
          closesAfterState: closeafter === 'state',
          pingSeconds: ping === 0 ? 0 : Math.min(PING_SECONDS_MAX, Math.max(PING_SECONDS_MIN, ping)),
        });
        c.executionCtx.waitUntil(stream.finished);
        return unchecked(
          new Response(stream.readable, {
            status: 200,
            headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-store' },
          }),
        );
      } catch (error) {
        logError('jmap_events_failed', error);
        return sendProblem(c, MAILBOX_UNAVAILABLE);
      }
    },
  );
}

interface StreamOptions {
  readonly accountId: string;
  readonly types: ReadonlySet<string>;
  readonly closesAfterState: boolean;
  /** Interval of pings in seconds; 0 for no pings. */
  readonly pingSeconds: number;
}

class EventStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly finished: Promise<void>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #socket: WebSocket;
  readonly #options: StreamOptions;
  #timer: ReturnType<typeof setInterval> | undefined;
  #end: () => void = () => {};

  constructor(socket: WebSocket, options: StreamOptions) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.readable = readable;
    this.#writer = writable.getWriter();
    this.#socket = socket;
    this.#options = options;
    this.finished = new Promise((resolve) => {
      this.#end = resolve;
    });
    // The writer closes when the client disconnects.
    this.#writer.closed.then(
      () => this.#close(),
      () => this.#close(),
    );
    socket.accept();
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)));
    socket.addEventListener('close', () => this.#close());
    socket.addEventListener('error', () => this.#close());
    const { pingSeconds } = options;
    if (pingSeconds > 0)
      this.#timer = setInterval(
        () => this.#send(`event: ping\ndata: {"interval":${pingSeconds}}\n\n`),
        pingSeconds * 1000,
      );
    // Sends a comment at once, because some clients receive the headers only with the first bytes.
    this.#send(': open\n\n');
  }

  #receive(data: string): void {
    if (data === 'pong') return;
    const message = JSON.parse(data) as EventMessage;
    const types: readonly JmapType[] = message.resync ? JMAP_TYPES : listChangedTypes(message.changes ?? []);
    const changed = types.filter((type) => this.#options.types.has(type));
    if (changed.length === 0) return;
    const states = Object.fromEntries(changed.map((type) => [type, message.state]));
    const body = { '@type': 'StateChange', changed: { [this.#options.accountId]: states } };
    this.#send(`event: state\nid: ${message.state}\ndata: ${JSON.stringify(body)}\n\n`);
    if (this.#options.closesAfterState) this.#close();
  }

  #send(text: string): void {
    this.#writer.write(Buffer.from(text)).catch(() => this.#close());
  }

  #close(): void {
    clearInterval(this.#timer);
    this.#writer.close().catch(() => {});
    try {
      this.#socket.close(1000, 'done');
    } catch {
      // The socket was closed already.
    }
    this.#end();
  }
}
