/**
 * Service worker of the mail page (`/_/sw.js`, scope `/_/`): opens the page offline, and shows notifications of new mail.
 *
 * By design: the page is read from the network first, so a new version is used at once. If the network fails, the copy on the
 * device is used. Files under `/_/assets/` never change, so their copies are used first. One cache per build holds a page together
 * with the files it names. The build before is kept for tabs that are still open.
 *
 * The build replaces `SHELL_VERSION` and `SHELL_FILES`.
 */
declare const SHELL_VERSION: string;
declare const SHELL_FILES: readonly string[];

interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  readonly preloadResponse: Promise<Response | undefined>;
  respondWith(response: Promise<Response>): void;
}
interface NotificationEvent extends ExtendableEvent {
  readonly notification: Notification;
}
interface Tab {
  readonly url: string;
  readonly visibilityState: 'visible' | 'hidden';
  postMessage(message: unknown): void;
}
/** The part of `ServiceWorkerGlobalScope` that is used here. Its type library contradicts that of pages. */
interface WorkerScope {
  readonly clients: {
    claim(): Promise<void>;
    matchAll(): Promise<readonly (Tab & { focus(): Promise<unknown> })[]>;
    openWindow(url: string): Promise<unknown>;
  };
  readonly registration: {
    readonly navigationPreload?: { enable(): Promise<void> };
    showNotification(title: string, options: NotificationOptions): Promise<void>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(name: 'install' | 'activate' | 'push', listener: (event: ExtendableEvent) => void): void;
  addEventListener(name: 'notificationclick', listener: (event: NotificationEvent) => void): void;
  addEventListener(name: 'fetch', listener: (event: FetchEvent) => void): void;
}
const worker = globalThis as unknown as WorkerScope;

const PREFIX = 'tessera-shell-';
const CACHE = PREFIX + SHELL_VERSION;
/** Cache key of the notification's text. The page stores the text there, in the user's language. */
const NEW_MAIL = '/_/new-mail';
const ASSETS = '/_/assets/';
const MAIL = '/_/mail';
const PAGES: readonly string[] = [MAIL, '/_/mail-frame', '/_/mail-frame?images=1'];

/** Fails if a deployment is running and the page names files of another build. The browser tries again later. */
async function install(): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.addAll(SHELL_FILES);
  for (const page of PAGES) {
    const response = await fetch(page, { cache: 'no-store' });
    if (!response.ok) throw new Error(`${page} was answered with ${response.status}.`);
    const html = await response.clone().text();
    const files = [...html.matchAll(/(?:src|href)="(\/_\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '');
    const missing = files.filter((file) => !SHELL_FILES.includes(file));
    if (missing.length > 0) throw new Error(`${page} belongs to another build.`);
    await cache.put(page, response);
  }
  await worker.skipWaiting();
}

async function activate(): Promise<void> {
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  // `keys` lists caches by age, oldest first. Delete all caches of earlier builds except the newest.
  for (const name of names.slice(0, -1)) await caches.delete(name);
  await worker.registration.navigationPreload?.enable();
  await worker.clients.claim();
}

async function readAsset(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? (await fetch(request));
}

async function readPage(event: FetchEvent, page: string): Promise<Response> {
  try {
    return (await event.preloadResponse) ?? (await fetch(event.request));
  } catch (error) {
    const kept = await (await caches.open(CACHE)).match(page);
    if (!kept) throw error;
    return kept;
  }
}

interface NewMessage {
  readonly thread_id: string;
  readonly is_read: boolean;
  readonly subject: string;
  readonly from: { readonly name: string; readonly email: string } | null;
}

/** Reads the newest message of the Inbox. @returns null without a network, or if the session has ended. */
async function readNewest(): Promise<NewMessage | null> {
  try {
    const response = await fetch('/v1/folders/inbox/messages?limit=10');
    if (!response.ok) return null;
    const { data } = (await response.json()) as { data: readonly NewMessage[] };
    return data.find(({ is_read }) => !is_read) ?? null;
  } catch {
    return null;
  }
}

/** A push names no message, so the push service learns nothing; this browser reads it with its own session. */
async function tellOfMail(): Promise<void> {
  const tabs = await worker.clients.matchAll();
  if (tabs.some(({ visibilityState }) => visibilityState === 'visible')) return;
  const newest = await readNewest();
  await worker.registration.showNotification(
    newest?.from?.name || newest?.from?.email || (await (await caches.match(NEW_MAIL))?.text()) || 'Tessera',
    {
      body: newest?.subject ?? '',
      // Notifications share a tag, so that the next one replaces this one.
      tag: 'new-mail',
      data: newest ? `#/inbox/t/${encodeURIComponent(newest.thread_id)}` : '#/inbox',
    },
  );
}

async function openMail({ notification }: NotificationEvent): Promise<void> {
  notification.close();
  const hash = String(notification.data ?? '#/inbox');
  const tab = (await worker.clients.matchAll()).find(({ url }) => new URL(url).pathname === MAIL);
  // A navigation would load the page again, so a tab with mail opens the conversation itself.
  tab?.postMessage({ hash });
  await (tab ? tab.focus() : worker.clients.openWindow(MAIL + hash));
}

worker.addEventListener('push', (event) => event.waitUntil(tellOfMail()));
worker.addEventListener('notificationclick', (event) => event.waitUntil(openMail(event)));
worker.addEventListener('install', (event) => event.waitUntil(install()));
worker.addEventListener('activate', (event) => event.waitUntil(activate()));
worker.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== location.origin) return;
  if (url.pathname.startsWith(ASSETS)) {
    event.respondWith(readAsset(request));
    return;
  }
  if (request.mode !== 'navigate') return;
  const page = url.pathname === MAIL ? MAIL : url.pathname + url.search;
  if (PAGES.includes(page)) event.respondWith(readPage(event, page));
});
