/** Web Push to this browser: the service worker shows a notification when mail arrives and no tab is visible. */
import { callJson } from '../../shared/api.ts';
import { mailTexts } from '../../shared/texts/mail.ts';

const PATH = '/v1/push-subscriptions';
/** Storage key for the user who turned on notifications. Other users of this browser get none until they turn them on. */
const OWNER = 'push-owner';

export const isPushSupported = 'serviceWorker' in navigator && 'PushManager' in globalThis;

const findSubscription = async () => (await navigator.serviceWorker.ready).pushManager.getSubscription();

async function register(subscription: PushSubscription): Promise<void> {
  await (await caches.open('tessera-texts')).put('/_/new-mail', new Response(mailTexts.changes.newMailTitle));
  const { endpoint, keys } = subscription.toJSON();
  await callJson(PATH, { body: { endpoint, keys } });
}

/** Turns on notifications in this browser. @returns false if the user refused them. */
export async function startPush(userId: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== 'granted') return false;
  const { pushManager } = await navigator.serviceWorker.ready;
  const { application_server_key } = await callJson<{ application_server_key: string }>('/v1/push-key');
  await register(await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: application_server_key }));
  localStorage.setItem(OWNER, userId);
  return true;
}

/** Ends this browser's push subscription. The server is not informed: it drops a subscription that the browser has ended. */
export async function stopPush(): Promise<void> {
  localStorage.removeItem(OWNER);
  await (await findSubscription())?.unsubscribe();
}

export const isPushOn = async (userId: string): Promise<boolean> =>
  isPushSupported && localStorage.getItem(OWNER) === userId && (await findSubscription()) !== null;

/** A subscription ends with its session and after a month, so the page renews it when it opens. */
export async function renewPush(userId: string): Promise<void> {
  if (!(await isPushOn(userId))) return;
  const subscription = await findSubscription();
  if (subscription) await register(subscription);
}
