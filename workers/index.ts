/**
 * The only entry of the Worker. `fetch` decides which product answers a request. Mail, queue messages and cron have
 * their own handlers.
 *
 * `/v1/…` are the JSON APIs, `/_/…` is the web app, everything else is object storage. In production `APP_HOST` serves
 * only the first two and every other hostname only storage, over HTTPS only. On one origin (loopback) both answer.
 */
import { version } from '../package.json';
import { collectorsApi } from './collectors/routes.ts';
import { createAuditApi } from './identity/audit-routes.ts';
import { createIdentityApi } from './identity/iam/index.ts';
import { operatorSecrets, registerUserObligation } from './identity/index.ts';
import { createOperatorApi } from './identity/operator-routes.ts';
import { runIdentitySchedule } from './identity/schedule.ts';
import { findSilentObjects, leaderboardApi, runLeaderboardSchedule } from './leaderboard/index.ts';
import {
  consumeMail,
  mailApi,
  mailboxObligation,
  mailSecrets,
  receiveEmail,
  runMailSchedule,
  totpSecrets,
} from './mail/index.ts';
import {
  consumeStorageTasks,
  refusePlainHttp,
  runStorageSchedule,
  serveStorage,
  storageApi,
} from './object-storage/index.ts';
import { bucketObligation } from './object-storage/user-deletion.ts';
import { addHealth } from './shared/health.ts';
import { addStrictTransport, decideTransport, redirectToHttps } from './shared/https-only.ts';
import { createJsonApi, refuseUnknownRoutes } from './shared/json-api.ts';
import { logError, logInfo } from './shared/log.ts';
import { addApiDocument } from './shared/openapi.ts';
import { misconfigured, type Problem, problem, toProblemResponse } from './shared/problem.ts';
import { MisconfiguredError, settingProblemsOf, settingsOf } from './shared/settings.ts';
import { serveWebApp } from './shared/web-app.ts';

export { LeaderboardSeason } from '../durable-objects/leaderboard-season/index.ts';
export { LeaderboardShard } from '../durable-objects/leaderboard-shard/index.ts';
export { Mailbox } from '../durable-objects/mailbox/index.ts';
/** Work of the mailbox objects. They reach it by `ctx.exports`. */
export { MailboxJobs } from './mail/mailbox-jobs.ts';

registerUserObligation(bucketObligation);
registerUserObligation(mailboxObligation);

const api = createJsonApi();
addHealth(api, version, findSilentObjects);
api.route('/', createIdentityApi([totpSecrets, operatorSecrets, ...mailSecrets]));
api.route('/', createOperatorApi());
api.route('/', createAuditApi());
api.route('/', leaderboardApi);
api.route('/', mailApi);
api.route('/', storageApi);
api.route('/', collectorsApi);
addApiDocument(api, version);
refuseUnknownRoutes(api);

type Product = 'api' | 'web' | 'storage' | 'welcome';

/**
 * Decides which product a request is for, by its raw target and its hostname.
 * @throws MisconfiguredError if APP_HOST or S3_HOST is bad. Only health answers then.
 */
function decideProduct(request: Request, env: Env): Product {
  const { host, path } = splitUrl(request.url);
  const hostname = host.replace(/:\d+$/, '');
  const problems = settingProblemsOf(env);
  const hostProblem = problems.find(({ name }) => name === 'APP_HOST' || name === 'S3_HOST');
  if (hostProblem && path === '/v1/health') return 'api';
  const { APP_HOST: appHost, S3_HOST: s3Host } = settingsOf(env);
  const isApp = appHost === '' || hostname === appHost;
  const isStorage = appHost === '' || hostname !== appHost;
  const isVirtualHosted = s3Host !== '' && hostname.endsWith(`.${s3Host}`);
  if (isApp && !isVirtualHosted) {
    if (path === '/v1' || path.startsWith('/v1/')) return 'api';
    if (path === '/_' || path.startsWith('/_/')) return 'web';
    const isBrowser =
      request.method === 'GET' &&
      !request.headers.has('authorization') &&
      (request.headers.get('accept') ?? '').includes('text/html');
    if (path === '/' && (isBrowser || !isStorage)) return 'welcome';
  }
  return isStorage ? 'storage' : 'api';
}

/** Splits the URL as it was sent: `new URL()` would collapse `..` and `.` in keys. */
function splitUrl(url: string): { host: string; path: string } {
  const match = /^https?:\/\/([^/?#]*)([^?#]*)/.exec(url);
  return { host: match?.[1] ?? '', path: match?.[2] || '/' };
}

export default {
  async fetch(request, env, ctx): Promise<Response> {
    const startedAt = Date.now();
    const response = await route(request, env, ctx, startedAt).catch((error: unknown) => {
      if (!(error instanceof MisconfiguredError)) throw error;
      logError('misconfigured', error);
      return toProblemResponse(misconfigured(error), crypto.randomUUID());
    });
    addStrictTransport(response, request, env);
    return response;
  },

  async email(message, env, ctx): Promise<void> {
    await receiveEmail(message, env, ctx);
  },

  async queue(batch, env, ctx): Promise<void> {
    if (batch.queue.startsWith('tessera-storage')) await consumeStorageTasks(batch, env, ctx);
    else await consumeMail(batch, env);
  },

  async scheduled(controller, env, ctx): Promise<void> {
    const jobs = {
      identity: runIdentitySchedule,
      leaderboard: runLeaderboardSchedule,
      mail: runMailSchedule,
      storage: runStorageSchedule,
    };
    for (const [name, run] of Object.entries(jobs)) {
      await run(controller, env, ctx).catch((error: unknown) => logError('schedule_failed', error, { product: name }));
    }
  },
} satisfies ExportedHandler<Env>;

async function route(request: Request, env: Env, ctx: ExecutionContext, startedAt: number): Promise<Response> {
  const product = decideProduct(request, env);
  const response = screen(product, request, env) ?? (await answer(product, request, env, ctx));
  const ms = Date.now() - startedAt;
  if (isLogged(response.status, ms, env)) {
    const { method } = request;
    logInfo('request', {
      product,
      method,
      status: response.status,
      ms,
      request_id: response.headers.get('x-request-id'),
    });
  }
  return response;
}

const SLOW_MS = 2_000;

/** A log line costs twice as much as a request, so only a sample of those that went well is logged. */
function isLogged(status: number, ms: number, env: Env): boolean {
  if (status >= 500 || ms >= SLOW_MS || settingProblemsOf(env).length > 0) return true;
  const { LOCAL: isLocal, LOG_SAMPLE_PERCENT: percent } = settingsOf(env);
  return isLocal !== '' || Math.random() * 100 < percent;
}

/** @returns the answer to a request that no product may handle, else null. */
function screen(product: Product, request: Request, env: Env): Response | null {
  const transport = decideTransport(request, env);
  if (transport === 'redirect') return redirectToHttps(request.url);
  const refuse = (refusal: Problem) => toProblemResponse(refusal, crypto.randomUUID());
  if (transport === 'refuse') {
    if (product === 'storage') return refusePlainHttp(request);
    return refuse(problem(403, 'https_required', 'Send the request over HTTPS.'));
  }
  // A stored file must never become the service worker of our own pages.
  if (product !== 'web' && request.headers.get('service-worker') === 'script')
    return refuse(problem(403, 'no_service_worker', 'Only the app’s own files may be service workers.'));
  return null;
}

function answer(product: Product, request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> {
  switch (product) {
    case 'api':
      return api.fetch(request, env, ctx);
    case 'web':
      return serveWebApp(request, env);
    case 'welcome':
      return new Response(null, { status: 302, headers: { location: '/_/', 'cache-control': 'no-store' } });
    case 'storage':
      return serveStorage(request, env, ctx);
  }
}
