/** Calls of Cloudflare's API that a trial needs. They were not tried in production: tests use a stand-in (`test/support/deploy/`). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { callApi, DeployError } from '../deploy/cloudflare-api.ts';
import { type Account, listPages } from '../deploy/resources.ts';
import { ROOT } from '../local/build.ts';

/** Counts of Cloudflare's analytics for a period. */
export interface PlatformUsage {
  readonly requests: number;
  readonly errors: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

export interface TrialPlatform {
  /** Runs `npm run deploy` with these options. @throws Error with its output if it fails. */
  deploy(args: readonly string[], signal: AbortSignal): Promise<void>;
  /** Reads D1's Time Travel bookmark of the present state of a database. @param name name of the database. */
  readBookmark(name: string): Promise<string>;
  /** Puts a database back by Time Travel. */
  putBack(name: string, bookmark: string): Promise<void>;
  /** Reads the analytics of a Worker and its databases. They are minutes late. */
  readUsage(worker: string, since: Date): Promise<PlatformUsage>;
}

/** Ends of the names of the databases whose rows are compared. */
const DATABASES = ['directory', 'objects-0'];

export type DeployEnvironment = Readonly<Record<string, string>>;

/**
 * @param name the trial's environment (`--env`).
 * @param environment variables of `npm run deploy`.
 */
export function toCloudflare(account: Account, name: string, environment: DeployEnvironment): TrialPlatform {
  const idOf = async (database: string): Promise<string> => {
    const databases = await listPages<{ name: string; uuid: string }>(
      account,
      `/accounts/${account.accountId}/d1/database`,
    );
    const found = databases.find((each) => each.name === database);
    if (found === undefined) throw new DeployError(`The database ${database} does not exist.`);
    return found.uuid;
  };
  const timeTravel = async (database: string) =>
    `/accounts/${account.accountId}/d1/database/${await idOf(database)}/time_travel`;
  return {
    deploy: (args, signal) => runDeploy(['--env', name, ...args], environment, signal),
    readBookmark: async (database) =>
      (await callApi<{ bookmark: string }>(account.access, 'GET', `${await timeTravel(database)}/bookmark`)).bookmark,
    putBack: async (database, bookmark) => {
      const query = new URLSearchParams({ bookmark });
      await callApi(account.access, 'POST', `${await timeTravel(database)}/restore?${query}`);
    },
    readUsage: async (worker, since) => {
      const ids = await Promise.all(DATABASES.map((end) => idOf(`${worker}-${end}`)));
      return readUsage(account, { worker, ids, since });
    },
  };
}

async function runDeploy(args: readonly string[], environment: DeployEnvironment, signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, ['dev/deploy/deploy.ts', ...args], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: wrangler ends with the script.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGTERM');
  signal.addEventListener('abort', end, { once: true });
  const [status] = await once(child, 'close');
  signal.removeEventListener('abort', end);
  if (status !== 0) throw new DeployError(`npm run deploy -- ${args.join(' ')} failed.\n${output.trim()}`);
}

const USAGE_QUERY = `query Usage($account: string!, $worker: string!, $ids: [string!], $since: Time!) {
  viewer { accounts(filter: {accountTag: $account}) {
    workers: workersInvocationsAdaptive(limit: 1000, filter: {scriptName: $worker, datetime_geq: $since}) { sum { requests errors } }
    databases: d1AnalyticsAdaptiveGroups(limit: 1000, filter: {databaseId_in: $ids, datetime_geq: $since}) { sum { rowsRead rowsWritten } }
  } }
}`;

interface UsageAnswer {
  readonly data: {
    readonly viewer: {
      readonly accounts: readonly {
        readonly workers: readonly { readonly sum: { readonly requests: number; readonly errors: number } }[];
        readonly databases: readonly { readonly sum: { readonly rowsRead: number; readonly rowsWritten: number } }[];
      }[];
    };
  } | null;
  readonly errors?: readonly { readonly message: string }[] | null;
}

const TIMEOUT_MS = 30_000;

/** https://developers.cloudflare.com/analytics/graphql-api/tutorials/querying-workers-metrics/ and …/d1/observability/metrics-analytics/ */
async function readUsage(
  { access, accountId }: Account,
  { worker, ids, since }: { worker: string; ids: readonly string[]; since: Date },
): Promise<PlatformUsage> {
  const answer = await fetch(`${access.baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      query: USAGE_QUERY,
      variables: { account: accountId, worker, ids, since: since.toISOString() },
    }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!answer.ok)
    throw new DeployError(
      `Cloudflare's analytics answer ${answer.status}: the token needs Account > Account Analytics > Read.`,
    );
  const { data, errors } = (await answer.json()) as UsageAnswer;
  if (data === null) throw new DeployError(`Cloudflare's analytics answer: ${errors?.[0]?.message ?? 'nothing'}`);
  const [found] = data.viewer.accounts;
  const sum = <T>(rows: readonly { sum: T }[] = [], of: (row: T) => number) =>
    rows.reduce((all, row) => all + of(row.sum), 0);
  return {
    requests: sum(found?.workers, ({ requests }) => requests),
    errors: sum(found?.workers, ({ errors: failed }) => failed),
    rowsRead: sum(found?.databases, ({ rowsRead }) => rowsRead),
    rowsWritten: sum(found?.databases, ({ rowsWritten }) => rowsWritten),
  };
}
