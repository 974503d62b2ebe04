/** Finds and removes everything in the account whose name has the random name of a trial. */
import { callApi, reasonOf, type Zone } from '../deploy/cloudflare-api.ts';
import { type Account, listPages, type Queue } from '../deploy/resources.ts';

/** A thing in the account. Its name has the name of the trial. */
export interface Owned {
  readonly what: string;
  /** Deletes it. */
  remove(): Promise<unknown>;
}

/**
 * Lists what a trial has in the account, in the order of removal: first what brings requests, last the data.
 * @throws Error if a list cannot be read: then nothing may be called removed.
 */
export async function listOwned(account: Account, zone: Zone, name: string): Promise<Owned[]> {
  const root = `/accounts/${account.accountId}`;
  const remove = (path: string) => () => callApi(account.access, 'DELETE', path);
  const toOwned = (what: string, path: string): Owned => ({ what, remove: remove(path) });
  const isOwn = (text: string) => new RegExp(`(^|[^a-z0-9])${name}([^a-z0-9]|$)`).test(text);
  const get = <T>(path: string) => callApi<T>(account.access, 'GET', path);
  const domains = await get<{ id: string; hostname: string }[]>(`${root}/workers/domains`);
  const subscriptions = await listPages<{ id: string; name: string }>(
    account,
    `${root}/event_subscriptions/subscriptions`,
  );
  const queues = (await listPages<Queue>(account, `${root}/queues`)).filter(({ queue_name }) => isOwn(queue_name));
  const scripts = await get<{ id: string }[]>(`${root}/workers/scripts`);
  const databases = await listPages<{ name: string; uuid: string }>(account, `${root}/d1/database`);
  const { buckets } = await get<{ buckets: { name: string }[] }>(`${root}/r2/buckets?per_page=1000`);
  const sending = await get<{ name: string; tag: string }[]>(`/zones/${zone.id}/email/sending/subdomains`);
  const records = await get<{ id: string; type: string; name: string }[]>(
    `/zones/${zone.id}/dns_records?per_page=1000`,
  );
  return [
    ...domains
      .filter(({ hostname }) => isOwn(hostname))
      .map(({ id, hostname }) => toOwned(`custom domain ${hostname}`, `${root}/workers/domains/${id}`)),
    ...subscriptions
      .filter((each) => isOwn(each.name))
      .map((each) =>
        toOwned(`event subscription ${each.name}`, `${root}/event_subscriptions/subscriptions/${each.id}`),
      ),
    ...sending
      .filter((each) => isOwn(each.name))
      .map(({ name: domain, tag }) =>
        toOwned(`sending domain ${domain}`, `/zones/${zone.id}/email/sending/subdomains/${tag}`),
      ),
    ...queues.flatMap(({ queue_id, queue_name, consumers = [] }) =>
      consumers.map(({ consumer_id }) =>
        toOwned(`consumer of ${queue_name}`, `${root}/queues/${queue_id}/consumers/${consumer_id}`),
      ),
    ),
    ...scripts
      .filter(({ id }) => isOwn(id))
      .map(({ id }) => toOwned(`Worker ${id}`, `${root}/workers/scripts/${id}?force=true`)),
    ...queues.map(({ queue_id, queue_name }) => toOwned(`queue ${queue_name}`, `${root}/queues/${queue_id}`)),
    ...databases
      .filter((each) => isOwn(each.name))
      .map((each) => toOwned(`database ${each.name}`, `${root}/d1/database/${each.uuid}`)),
    ...buckets
      .filter((each) => isOwn(each.name))
      .map((each) => ({ what: `bucket ${each.name}`, remove: () => removeBucket(account, each.name) })),
    // Cloudflare removes the record of a custom domain with it.
    ...records
      .filter((each) => isOwn(each.name))
      .map(({ id, type, name: host }) => toOwned(`DNS record ${type} ${host}`, `/zones/${zone.id}/dns_records/${id}`)),
  ];
}

const AT_ONCE = 10;

/** Deletes the objects of a bucket, and the bucket. */
async function removeBucket({ access, accountId }: Account, name: string): Promise<void> {
  const path = `/accounts/${accountId}/r2/buckets/${name}`;
  for (;;) {
    const objects = await callApi<{ key: string }[]>(access, 'GET', `${path}/objects?per_page=1000`);
    if (objects.length === 0) break;
    for (let at = 0; at < objects.length; at += AT_ONCE) {
      const some = objects.slice(at, at + AT_ONCE);
      await Promise.all(some.map(({ key }) => callApi(access, 'DELETE', `${path}/objects/${encodeURIComponent(key)}`)));
    }
  }
  await callApi(access, 'DELETE', path);
}

/**
 * Removes what a trial made. Repeatable.
 * @param confirm asks before, with the names of everything.
 * @returns the names of what is left.
 */
export async function removeOwned(
  list: () => Promise<Owned[]>,
  confirm: (names: readonly string[]) => Promise<boolean>,
): Promise<string[]> {
  const owned = await list();
  if (owned.length === 0) return [];
  const names = owned.map(({ what }) => what);
  if (!(await confirm(names))) return names;
  for (const { what, remove } of owned) {
    try {
      await remove();
      console.log(`removed ${what}`);
    } catch (error) {
      console.error(`not removed: ${what}: ${reasonOf(error)}`);
    }
  }
  return (await list()).map(({ what }) => what);
}
