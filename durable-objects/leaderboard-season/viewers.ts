/**
 * Viewers of the top list: WebSockets, which let the object hibernate between changes, and event streams, which do not.
 * Every viewer gets the list at once, and again when its visible part changes, at most every 100 ms.
 */
import { PUSH_INTERVAL_MS } from '../../workers/leaderboard/domain/board.ts';
import { logError } from '../../workers/shared/log.ts';

/** Proxies end a stream without traffic. */
const HEARTBEAT_MS = 15_000;
const RETRY_MS = 1_000;

/** The list as text, and the visible part. A change of the visible part causes a message. */
export interface LiveList {
  readonly message: string;
  readonly shown: string;
}

/** A request for a live connection. */
export interface Viewer {
  /** Entries of the list. */
  readonly limit: number;
  /** The client whose connections are counted. */
  readonly client: string;
  /** Connections that one client may have at the same time. */
  readonly perClient: number;
}

interface Stream {
  readonly limit: number;
  readonly client: string;
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  shown: string;
  isBusy: boolean;
  /** A change occurred while it was busy. */
  isBehind: boolean;
}

interface SocketState {
  readonly limit: number;
  readonly shown: number;
}

export class Viewers {
  readonly #ctx: DurableObjectState;
  readonly #read: (limit: number) => Promise<LiveList>;
  readonly #streams = new Set<Stream>();
  /** Set until every viewer was served. A second, concurrent run could be overtaken and end with older lists. */
  #isPlanned = false;
  /** Whether something changed since the run began. */
  #isChanged = false;
  #sentAt = 0;
  #heartbeat: ReturnType<typeof setInterval> | undefined;

  constructor(ctx: DurableObjectState, read: (limit: number) => Promise<LiveList>) {
    this.#ctx = ctx;
    this.#read = read;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
  }

  /** @param first the list to send first. @returns 429 if the client has too many connections. */
  async open(
    request: Request,
    { limit, client: owner, perClient }: Viewer,
    first: Promise<LiveList>,
  ): Promise<Response> {
    const list = await first;
    if (this.#countOf(owner) >= perClient) return new Response(null, { status: 429 });
    if (request.headers.get('upgrade')?.toLowerCase() === 'websocket') {
      const { 0: client, 1: server } = new WebSocketPair();
      this.#ctx.acceptWebSocket(server, [owner]);
      this.#send(server, limit, list);
      return new Response(null, { status: 101, webSocket: client });
    }
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const stream: Stream = { limit, client: owner, writer, shown: list.shown, isBusy: false, isBehind: false };
    this.#streams.add(stream);
    this.#write(stream, `retry: 1000\ndata: ${list.message}\n\n`);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS);
    return new Response(readable, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } });
  }

  #countOf(client: string): number {
    const streams = [...this.#streams].filter((stream) => stream.client === client);
    return this.#ctx.getWebSockets(client).length + streams.length;
  }

  /** Schedules a run after a change that may be visible. */
  plan(): void {
    if (this.#streams.size === 0 && this.#ctx.getWebSockets().length === 0) return;
    this.#isChanged = true;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // A clock that was set back must not delay viewers.
    const waitMs = Math.min(PUSH_INTERVAL_MS, Math.max(0, this.#sentAt + PUSH_INTERVAL_MS - Date.now()));
    setTimeout(() => this.#ctx.waitUntil(this.#run()), waitMs);
  }

  async #run(): Promise<void> {
    this.#sentAt = Date.now();
    this.#isChanged = false;
    try {
      await this.#sendAll();
    } catch (error) {
      // A shard is unavailable. Without a retry, viewers would miss this change until the next one.
      logError('leaderboard_push_failed', error);
      this.#isChanged = true;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    this.#isPlanned = false;
    if (this.#isChanged) this.plan();
  }

  /** The season is over. Viewers reconnect to the new one. */
  closeAll(): void {
    for (const socket of this.#ctx.getWebSockets()) socket.close(1001, 'the season is over');
    for (const stream of this.#streams) this.#end(stream);
  }

  async #sendAll(): Promise<void> {
    const lists = new Map<number, Promise<LiveList>>();
    const listOf = (limit: number): Promise<LiveList> => {
      const list = lists.get(limit) ?? this.#read(limit);
      lists.set(limit, list);
      return list;
    };
    for (const socket of this.#ctx.getWebSockets()) {
      const note = socket.deserializeAttachment() as SocketState;
      const list = await listOf(note.limit);
      if (note.shown !== digest(list.shown)) this.#send(socket, note.limit, list);
    }
    for (const stream of this.#streams) {
      const list = await listOf(stream.limit);
      if (stream.shown === list.shown) continue;
      // A slow viewer gets the newest list when it is ready, not every list that it missed.
      if (stream.isBusy) {
        stream.isBehind = true;
        continue;
      }
      stream.shown = list.shown;
      this.#write(stream, `data: ${list.message}\n\n`);
    }
  }

  #send(socket: WebSocket, limit: number, list: LiveList): void {
    try {
      socket.send(list.message);
      socket.serializeAttachment({ limit, shown: digest(list.shown) } satisfies SocketState);
    } catch {
      socket.close(1011, 'could not send');
    }
  }

  #write(stream: Stream, text: string): void {
    stream.isBusy = true;
    stream.writer.write(new TextEncoder().encode(text)).then(
      () => {
        stream.isBusy = false;
        if (stream.isBehind) this.plan();
        stream.isBehind = false;
      },
      () => this.#end(stream),
    );
  }

  #beat(): void {
    for (const stream of this.#streams) if (!stream.isBusy) this.#write(stream, ': here\n\n');
  }

  #end(stream: Stream): void {
    this.#streams.delete(stream);
    stream.writer.close().catch(() => {});
    if (this.#streams.size > 0) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }
}

/** FNV-1a. Records in four bytes, which survive hibernation, what a socket saw last. */
function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
