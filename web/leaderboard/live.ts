/**
 * The live top list. Uses a WebSocket, server-sent events if sockets fail, and a plain read in between. A hidden tab
 * disconnects. When it is visible again, it reconnects and catches up.
 */
import { createStore } from '../shared/store.ts';
import { loadTop, scoresPath, type TopList } from './api.ts';

export type ConnectionStatus = 'connecting' | 'live' | 'away';

export const live = createStore<{ top: TopList | null; status: ConnectionStatus }>({ top: null, status: 'connecting' });

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 15_000;
/** Time limit for the first message of a WebSocket, because a proxy may accept a connection and never answer it. */
const FIRST_MESSAGE_MS = 10_000;
/** After this many sockets that never opened, server-sent events are used. */
const SOCKET_FAILURES_MAX = 2;

function accept(text: string): void {
  const message: unknown = JSON.parse(text);
  if (typeof message === 'object' && message !== null && 'data' in message) {
    live.set({ top: message as TopList, status: 'live' });
  }
}

/** Starts the live list. @returns a function that stops it. */
export function watchTop(): () => void {
  const path = scoresPath();
  live.set({ top: null, status: 'connecting' });
  let socket: WebSocket | null = null;
  let events: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let retryMs = RETRY_MS_MIN;
  let isStopped = false;

  const disconnect = () => {
    clearTimeout(timer);
    if (socket) {
      socket.onclose = null;
      socket.close();
    }
    events?.close();
    socket = null;
    events = null;
  };
  const retry = () => {
    disconnect();
    if (isStopped || document.hidden) return;
    live.set({ status: 'away' });
    loadTop({}).then(
      // Use the answer only if no live list has arrived since this read began, because a live list is newer.
      (top) => live.get().status === 'away' && live.set({ top }),
      () => undefined,
    );
    timer = setTimeout(connect, retryMs * (0.75 + Math.random() / 2));
    retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
  };
  const onMessage = (event: MessageEvent<string>) => {
    clearTimeout(timer);
    failures = 0;
    retryMs = RETRY_MS_MIN;
    accept(event.data);
  };
  function connect(): void {
    disconnect();
    if (failures < SOCKET_FAILURES_MAX) {
      socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${path}`);
      socket.onmessage = onMessage;
      socket.onclose = onFailure;
    } else {
      events = new EventSource(path);
      events.onmessage = onMessage;
      events.onerror = onFailure;
    }
    timer = setTimeout(onFailure, FIRST_MESSAGE_MS);
  }
  const onFailure = () => {
    failures = failures < SOCKET_FAILURES_MAX ? failures + 1 : 0;
    retry();
  };
  const onVisible = () => (document.hidden ? disconnect() : connect());
  const onOffline = () => live.set({ status: 'away' });
  document.addEventListener('visibilitychange', onVisible);
  addEventListener('online', connect);
  addEventListener('offline', onOffline);
  connect();
  return () => {
    isStopped = true;
    disconnect();
    document.removeEventListener('visibilitychange', onVisible);
    removeEventListener('online', connect);
    removeEventListener('offline', onOffline);
  };
}
