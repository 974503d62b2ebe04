/**
 * Viewers of the top list: WebSockets, which let the object hibernate between changes, and event streams, which do not. Viewers
 * with the same number of entries form a group: they get the same text, which is made once per change.
 */
import type { Viewer } from '../protocol.ts';

/** Interval of heartbeats. Proxies close a stream without traffic. */
const HEARTBEAT_MS = 15_000;
/** Maximum of viewers of one view. Sending a message takes about 30 µs per viewer. */
const VIEWERS_MAX = 10_000;

/** The top list as a message, and the part of it that viewers see (`shown`). A message is sent only if `shown` has changed. */
export interface LiveList {
  readonly message: string;
  readonly shown: string;
}

interface Stream {
  readonly client: string;
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  isBusy: boolean;
  /** True if the viewer missed a message because an earlier one was still being sent. */
  isBehind: boolean;
}

interface Group {
  /** The last list that was sent to the group. */
  list: LiveList | null;
  readonly sockets: Set<WebSocket>;
  readonly streams: Set<Stream>;
}

const encode = (list: LiveList): Uint8Array => new TextEncoder().encode(`data: ${list.message}\n\n`);

export class Viewers {
  readonly #ctx: DurableObjectState;
  readonly #groups = new Map<number, Group>();
  #heartbeat: ReturnType<typeof setInterval> | undefined;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
    // After hibernation, it is unknown which list each viewer got last. So each viewer gets the next list.
    for (const socket of ctx.getWebSockets()) this.#groupOf(socket.deserializeAttachment()).sockets.add(socket);
  }

  get count(): number {
    return [...this.#groups.values()].reduce((sum, { sockets, streams }) => sum + sockets.size + streams.size, 0);
  }

  /**
   * Opens a viewer's connection.
   * @param list the list to send first.
   * @returns 429 if the client has too many connections, 503 if the view has too many viewers.
   */
  open(request: Request, { limit, client: owner, perClient }: Viewer, list: LiveList): Response {
    if (this.#countOf(owner) >= perClient) return new Response(null, { status: 429 });
    if (this.count >= VIEWERS_MAX) return new Response(null, { status: 503 });
    const group = this.#groupOf(limit);
    group.list ??= list;
    if (request.headers.get('upgrade')?.toLowerCase() === 'websocket') {
      const { 0: client, 1: server } = new WebSocketPair();
      this.#ctx.acceptWebSocket(server, [owner]);
      server.serializeAttachment(limit);
      group.sockets.add(server);
      server.send(list.message);
      return new Response(null, { status: 101, webSocket: client });
    }
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const stream: Stream = { client: owner, writer: writable.getWriter(), isBusy: false, isBehind: false };
    group.streams.add(stream);
    this.#write(group, stream, new TextEncoder().encode(`retry: 1000\ndata: ${list.message}\n\n`));
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS);
    return new Response(readable, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } });
  }

  #groupOf(limit: number): Group {
    const group = this.#groups.get(limit) ?? { list: null, sockets: new Set(), streams: new Set() };
    this.#groups.set(limit, group);
    return group;
  }

  #countOf(client: string): number {
    const streams = [...this.#groups.values()].flatMap((group) => [...group.streams]);
    return this.#ctx.getWebSockets(client).length + streams.filter((stream) => stream.client === client).length;
  }

  /** Sends the list to the groups whose visible part changed. @param read makes the list of a group. */
  send(read: (limit: number) => LiveList): void {
    for (const [limit, group] of this.#groups) {
      if (group.sockets.size + group.streams.size === 0) {
        this.#groups.delete(limit);
        continue;
      }
      const list = read(limit);
      if (group.list?.shown === list.shown) continue;
      group.list = list;
      for (const socket of group.sockets) this.#send(group, socket, list.message);
      const bytes = group.streams.size === 0 ? null : encode(list);
      for (const stream of group.streams) {
        // A slow viewer gets only the newest list once it is ready, not every list that it missed.
        if (stream.isBusy) stream.isBehind = true;
        else if (bytes !== null) this.#write(group, stream, bytes);
      }
    }
  }

  /** Forgets a socket that was closed. */
  remove(socket: WebSocket): void {
    for (const { sockets } of this.#groups.values()) sockets.delete(socket);
  }

  /** Closes all connections when the season is over. Viewers reconnect to the new season. */
  closeAll(): void {
    for (const { sockets, streams } of this.#groups.values()) {
      for (const socket of sockets) socket.close(1001, 'the season is over');
      for (const stream of streams) stream.writer.close().catch(() => {});
    }
    this.#groups.clear();
    this.#stopBeat();
  }

  #send(group: Group, socket: WebSocket, message: string): void {
    try {
      socket.send(message);
    } catch {
      group.sockets.delete(socket);
      socket.close(1011, 'could not send');
    }
  }

  #write(group: Group, stream: Stream, bytes: Uint8Array): void {
    stream.isBusy = true;
    stream.writer.write(bytes).then(
      () => {
        stream.isBusy = false;
        if (!stream.isBehind || group.list === null) return;
        stream.isBehind = false;
        this.#write(group, stream, encode(group.list));
      },
      () => {
        group.streams.delete(stream);
        this.#stopBeat();
      },
    );
  }

  #beat(): void {
    const bytes = new TextEncoder().encode(': here\n\n');
    for (const group of this.#groups.values()) {
      for (const stream of group.streams) if (!stream.isBusy) this.#write(group, stream, bytes);
    }
  }

  #stopBeat(): void {
    if ([...this.#groups.values()].some(({ streams }) => streams.size > 0)) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }
}
