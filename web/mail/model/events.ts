/**
 * Receives events of the mailbox over a WebSocket, or by long polling if sockets fail. Both resume from the last state
 * that this tab has seen, so a tab that was disconnected misses nothing.
 */
import { callJson } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { type Events, loadMessage } from './api.ts';
import { refreshAll, refreshFolders, refreshList } from './list-reading.ts';
import { mailbox, replaceSummary } from './mailbox.ts';
import { refreshQuota, signOutIfUnauthorized } from './session.ts';

export type ConnectionStatus = 'connecting' | 'live' | 'away';
export const connection = createStore<{ status: ConnectionStatus; state: string }>({ status: 'connecting', state: '' });

type ChangeListener = (messageIds: ReadonlySet<string>, threadIds: ReadonlySet<string>) => void;
/** Listeners that run with the ids of changed messages and of their conversations, for example the reader. */
const listeners = new Set<ChangeListener>();
export function onMessagesChanged(listener: ChangeListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const SETTLE_MS = 120;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 20_000;
/** Up to this many changed messages below the list's first page are read one by one. If more change at once, they are not. */
const SINGLE_READS_MAX = 12;

/** Events after which the mailbox has another size or quota. */
const SIZE_CHANGES: readonly string[] = ['message_created', 'message_deleted', 'folder_deleted', 'mailbox_updated'];

let pending = new Set<string>();
let pendingThreads = new Set<string>();
let isSizeChanged = false;
let settle: ReturnType<typeof setTimeout> | undefined;

function receive(events: Events): void {
  const isFirst = connection.get().state === '';
  connection.set({ status: 'live', state: events.state });
  // Read the list again at the first state: otherwise a change between the first read of the list and that state would be missed.
  if (isFirst || events.resync) refreshAll();
  if (events.resync) {
    void refreshQuota();
    return;
  }
  for (const change of events.changes ?? []) {
    if (change.message_id) pending.add(change.message_id);
    if (change.thread_id) pendingThreads.add(change.thread_id);
    isSizeChanged ||= SIZE_CHANGES.includes(change.type);
  }
  if ((events.changes?.length ?? 0) === 0) return;
  clearTimeout(settle);
  settle = setTimeout(applyChanges, SETTLE_MS);
}

async function applyChanges(): Promise<void> {
  const changed = pending;
  const changedThreads = pendingThreads;
  pending = new Set();
  pendingThreads = new Set();
  if (isSizeChanged) void refreshQuota();
  isSizeChanged = false;
  void refreshFolders();
  const known = new Set(mailbox.get().messages.map((message) => message.id));
  const deep = [...changed].filter((id) => known.has(id));
  await refreshList();
  for (const listener of listeners) listener(changed, changedThreads);
  if (deep.length > SINGLE_READS_MAX) return;
  const top = new Set(
    mailbox
      .get()
      .messages.slice(0, 50)
      .map((message) => message.id),
  );
  for (const id of deep.filter((one) => !top.has(one))) {
    await loadMessage(id).then(
      (message) => replaceSummary(id, message),
      () => replaceSummary(id, null),
    );
  }
}

/**
 * Follows the mailbox's events until stopped.
 *
 * @param onReturn runs when the connection is back after a break.
 * @returns a function that stops.
 */
export function watchMailbox(onReturn: () => void): () => void {
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let polling: AbortController | null = null;
  let failures = 0;
  let retryMs = RETRY_MS_MIN;
  let isStopped = false;

  const since = () => (connection.get().state === '' ? '' : `?since=${encodeURIComponent(connection.get().state)}`);
  const disconnect = () => {
    clearTimeout(timer);
    if (socket) {
      socket.onclose = null;
      socket.close();
    }
    polling?.abort();
    socket = null;
    polling = null;
  };
  const retry = () => {
    disconnect();
    if (isStopped) return;
    connection.set({ status: 'away' });
    timer = setTimeout(connect, retryMs * (0.75 + Math.random() / 2));
    retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
  };

  async function poll(): Promise<void> {
    const control = new AbortController();
    polling = control;
    try {
      while (!isStopped && polling === control) {
        receive(await callJson<Events>(`/v1/events${since()}`, { signal: control.signal }));
        retryMs = RETRY_MS_MIN;
      }
    } catch (error) {
      if (control.signal.aborted) return;
      signOutIfUnauthorized(error);
      failures = 0;
      retry();
    }
  }

  function connect(): void {
    disconnect();
    if (failures >= 2) {
      void poll();
      return;
    }
    let wasOpen = false;
    socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/v1/events${since()}`);
    socket.onopen = () => {
      const isReturn = connection.get().status === 'away';
      wasOpen = true;
      failures = 0;
      retryMs = RETRY_MS_MIN;
      connection.set({ status: 'live' });
      if (!isReturn) return;
      refreshAll();
      onReturn();
    };
    socket.onmessage = (event: MessageEvent<string>) => {
      if (event.data.startsWith('{')) receive(JSON.parse(event.data) as Events);
    };
    socket.onclose = () => {
      if (!wasOpen) failures += 1;
      retry();
    };
  }
  const onOnline = () => {
    retryMs = RETRY_MS_MIN;
    connect();
  };
  const onOffline = () => {
    disconnect();
    connection.set({ status: 'away' });
  };
  addEventListener('online', onOnline);
  addEventListener('offline', onOffline);
  connect();
  return () => {
    isStopped = true;
    disconnect();
    removeEventListener('online', onOnline);
    removeEventListener('offline', onOffline);
  };
}
