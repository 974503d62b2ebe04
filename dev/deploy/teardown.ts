/** `npm run deploy -- --teardown`: deletes a deployment and its data. */
import { createInterface } from 'node:readline/promises';
import { ApiError, callApi, DeployError } from './cloudflare-api.ts';
import type { DeployPlan } from './plan.ts';
import { type Account, type Resources, toJurisdictionHeaders } from './resources.ts';

/** R2's code for "The bucket you tried to delete is not empty". */
const BUCKET_NOT_EMPTY_CODE = 10008;

interface Confirmation {
  /** Value of the variable TEARDOWN, which must be the name of the Worker. */
  readonly given: string;
  readonly isTerminal: boolean;
}

/** Asks for a confirmation. @throws DeployError unless the name of the Worker was given or typed. */
async function confirm(worker: string, { given, isTerminal }: Confirmation): Promise<void> {
  if (given === worker) return;
  if (given !== '') throw new DeployError(`TEARDOWN is not "${worker}". Nothing was deleted.`);
  if (!isTerminal)
    throw new DeployError(`Without a terminal, --teardown needs TEARDOWN=${worker}. Nothing was deleted.`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`Type ${worker} to delete all of this: `);
  terminal.close();
  if (answer.trim() !== worker) throw new DeployError('The name differs. Nothing was deleted.');
}

interface Target {
  readonly what: string;
  readonly path: string;
}

/**
 * Lists what to delete.
 * @returns the existing parts of the deployment, in the order of deletion: first those that bring requests, last the data.
 */
async function listTargets(account: Account, plan: DeployPlan, resources: Resources): Promise<Target[]> {
  const domains = await callApi<{ id: string; hostname: string; service: string }[]>(
    account.access,
    'GET',
    `/accounts/${account.accountId}/workers/domains`,
  );
  const queues = plan.queues.flatMap((name) => resources.queues.get(name) ?? []);
  return [
    ...domains
      .filter(({ service }) => service === plan.worker)
      .map(({ id, hostname }) => ({ what: `custom domain ${hostname}`, path: `/workers/domains/${id}` })),
    ...queues.flatMap(({ queue_id, queue_name, consumers = [] }) =>
      consumers.map(({ consumer_id }) => ({
        what: `consumer of ${queue_name}`,
        path: `/queues/${queue_id}/consumers/${consumer_id}`,
      })),
    ),
    ...(resources.secrets
      ? [
          {
            what: `Worker ${plan.worker} with its secrets, mailboxes and leaderboards`,
            path: `/workers/scripts/${plan.worker}?force=true`,
          },
        ]
      : []),
    ...queues.map(({ queue_id, queue_name }) => ({ what: `queue ${queue_name}`, path: `/queues/${queue_id}` })),
    ...plan.databases.flatMap(({ name }) => {
      const id = resources.databases.get(name);
      return id ? [{ what: `database ${name}`, path: `/d1/database/${id}` }] : [];
    }),
    ...plan.buckets
      .filter(({ name }) => resources.buckets.has(name))
      .map(({ name }) => ({ what: `bucket ${name}`, path: `/r2/buckets/${name}` })),
  ];
}

/** Deletes the existing parts, after a confirmation. Repeatable after an interruption. Skips buckets that are not empty. */
export async function teardown(
  account: Account,
  plan: DeployPlan,
  resources: Resources,
  options: Confirmation & { readonly isDryRun: boolean },
): Promise<void> {
  const targets = await listTargets(account, plan, resources);
  if (targets.length === 0) return console.log(`Nothing of "${plan.worker}" exists in this account.`);
  console.log(`This will be deleted and cannot be restored:\n${targets.map(({ what }) => `  ${what}`).join('\n')}`);
  if (options.isDryRun) return console.log('Dry run: nothing was deleted.');
  await confirm(plan.worker, options);
  const left: string[] = [];
  for (const { what, path } of targets) {
    try {
      const headers = toJurisdictionHeaders(plan.jurisdiction);
      await callApi(account.access, 'DELETE', `/accounts/${account.accountId}${path}`, undefined, headers);
      console.log(`deleted ${what}`);
    } catch (error) {
      if (!(error instanceof ApiError) || !error.codes.includes(BUCKET_NOT_EMPTY_CODE)) throw error;
      left.push(what);
    }
  }
  if (left.length > 0)
    throw new DeployError(
      `Left, because not empty: ${left.join(', ')}. Empty them at https://dash.cloudflare.com/${account.accountId}/r2, and run the command again.`,
    );
  console.log(`"${plan.worker}" is deleted. Keep its secrets until you are sure that you need no backup of it.`);
}
