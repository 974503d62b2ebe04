/**
 * The listeners of a mailbox: WebSockets and long polls. WebSockets may hibernate, so the number of the last change sent is stored
 * with each socket. Polls are only in memory; a client whose poll is lost polls again. Pushes are hints: a client that missed one
 * replays from `since`.
 */
import type { ChangePage, EventMessage } from '../contract/changes.ts';

/** Maximum of sockets per mailbox. A further socket closes the oldest one. */
export const SOCKETS_MAX = 2_000;
const POLLS_MAX = 200;
/** WebSocket close code for an ended session: the client must log in again. */
const SESSION_ENDED = 4401;

interface SocketState {
  /** Number of the last change that was sent to the socket. */
  readonly state: number;
  /** Expiry of the credential that opened the socket; null for never. */
  readonly expiresAt: number | null;
}

export const toEventMessage = (page: ChangePage): EventMessage =>
  page.resync ? { state: page.state, resync: true } : { state: page.state, changes: page.changes };

export class Listeners {
  readonly #ctx: DurableObjectState;
  readonly #readChanges: (since: number) => ChangePage;
  readonly #now: () => number;
  readonly #polls = new Set<() => void>();

  constructor(ctx: DurableObjectState, readChanges: (since: number) => ChangePage, now: () => number) {
    this.#ctx = ctx;
    this.#now = now;
    this.#readChanges = readChanges;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
  }

  /**
   * Accepts a socket and sends it the changes after `since` at once.
   * @param since null starts from the current state.
   * @param credential the socket is closed when this credential is revoked or expires.
   */
  accept(since: number | null, credential: { id: string; expiresAt: number | null }, state: number): Response {
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    const sockets = this.#ctx.getWebSockets();
    if (sockets.length >= SOCKETS_MAX) sockets[0]?.close(1013, 'too many sockets');
    this.#ctx.acceptWebSocket(server, [credential.id]);
    server.serializeAttachment({ state: since ?? state, expiresAt: credential.expiresAt } satisfies SocketState);
    if (since === null) server.send(JSON.stringify({ state: String(state), changes: [] } satisfies EventMessage));
    else this.#catchUp(server, true);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** @returns the changes after `since`. If there are none yet, waits for the next change or for the timeout. */
  async poll(since: number, timeoutMs: number): Promise<EventMessage> {
    const at = this.#readChanges(since);
    if (at.changes.length > 0 || at.resync || this.#polls.size >= POLLS_MAX) return toEventMessage(at);
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#polls.delete(end);
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.#polls.add(end);
    });
    return toEventMessage(this.#readChanges(since));
  }

  /** Sends every listener the changes it has not received. */
  announce(): void {
    for (const end of [...this.#polls]) end();
    for (const socket of this.#ctx.getWebSockets()) this.#catchUp(socket, false);
  }

  /**
   * Closes the sockets of one credential (`only`), of all other credentials (`except`), or of all. Also ends every poll, and the
   * caller of each poll is checked again.
   */
  close(which: { readonly only?: string; readonly except?: string }): void {
    for (const end of [...this.#polls]) end();
    const kept = new Set(which.except === undefined ? [] : this.#ctx.getWebSockets(which.except));
    for (const socket of this.#ctx.getWebSockets(which.only)) {
      if (!kept.has(socket)) socket.close(SESSION_ENDED, 'the session ended');
    }
  }

  #catchUp(socket: WebSocket, isFirst: boolean): void {
    let { state, expiresAt } = socket.deserializeAttachment() as SocketState;
    if (expiresAt !== null && expiresAt <= this.#now()) {
      socket.close(SESSION_ENDED, 'the session ended');
      return;
    }
    try {
      for (let must = isFirst; ; must = false) {
        const page = this.#readChanges(state);
        if (page.changes.length === 0 && !page.resync && !must) return;
        socket.send(JSON.stringify(toEventMessage(page)));
        state = Number(page.state);
        socket.serializeAttachment({ state, expiresAt } satisfies SocketState);
        if (!page.more) return;
      }
    } catch {
      // The write failed because the socket is broken. Its client reconnects with `since`.
      socket.close(1011, 'broken');
    }
  }
}
