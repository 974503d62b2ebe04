/**
 * The only entry point of the Worker. `fetch` passes each request to one part: the JSON APIs, the web app or object storage. Mail,
 * queue messages and cron have their own handlers. The manifest of a product, `workers/<product>/product.ts`, says what it is and does.
 *
 * `/v1/…` are the JSON APIs, `/_/…` is the web app, everything else is object storage. In production `APP_HOST` serves only the
 * first two and every other hostname only storage, over HTTPS only. On one origin (loopback) both answer.
 */
import { registerRevocationWitness, registerUserObligation, withClientOfBridge } from './identity/index.ts';
import { identity } from './identity/product.ts';
import { leaderboard } from './leaderboard/product.ts';
import { mail } from './mail/product.ts';
import { misconfigured, type Problem, problem, toProblemResponse } from './shared/json/problem.ts';
import { isAbsentPage, isServed, operationOf, type Product } from './shared/product.ts';
import { createClock } from './shared/settings/clock.ts';
import { findMisconfigured, settingProblemsOf, settingsOf } from './shared/settings/settings.ts';
import { beginComparisons, guardedEnv } from './shared/stores/guarded-database.ts';
import { countOperation, toOutcome } from './shared/telemetry/counters.ts';
import { readTraceParent, runInvocation } from './shared/telemetry/invocation.ts';
import { logError, logInfo } from './shared/telemetry/log.ts';
import { isLogged } from './shared/telemetry/log-sample.ts';
import { addStrictTransport, decideTransport, redirectToHttps } from './shared/web/https-only.ts';
import { serveWebApp } from './shared/web/web-app.ts';
import { refusePlainHttp, serveStorage } from './storage/index.ts';
import { directory, storage } from './storage/product.ts';

export { LeaderboardSeason } from '../durable-objects/leaderboard/season/index.ts';
export { LeaderboardShard } from '../durable-objects/leaderboard/shard/index.ts';
export { LeaderboardView } from '../durable-objects/leaderboard/view/index.ts';
export { Mailbox } from '../durable-objects/mail/index.ts';
/** RPC entry point that the mailbox objects call through `ctx.exports`. */
export { MailboxJobs } from './mail/mailbox-jobs.ts';

/** The order is that of the API document, of cron work, and of what products do when a user is deleted. */
const PRODUCTS: readonly Product[] = [identity, directory, storage, leaderboard, mail];

for (const { obligation, witness } of PRODUCTS) {
  if (obligation) registerUserObligation(obligation);
  if (witness) registerRevocationWitness(witness);
}

type Destination = 'api' | 'web' | 'storage' | 'welcome';

/** Settings that every request needs. While one of them is bad, only health answers. */
const NEEDED = ['APP_HOST', 'S3_HOST', 'PRODUCTS'];

interface Target {
  readonly host: string;
  readonly path: string;
}

/**
 * Decides which part of the Worker answers a request, by its raw target and its hostname.
 * @throws MisconfiguredError if APP_HOST, S3_HOST or PRODUCTS is bad. Only health answers then.
 */
function decideDestination(request: Request, { host, path }: Target, env: Env): Destination {
  const hostname = host.replace(/:\d+$/, '');
  const isBroken = settingProblemsOf(env).some(({ name }) => NEEDED.includes(name));
  if (isBroken && path === '/v1/health') return 'api';
  const { APP_HOST: appHost, S3_HOST: s3Host } = settingsOf(env);
  if (isHostPath(hostname, path)) return 'api';
  const isApp = appHost === '' || hostname === appHost;
  const isStorage = isServed(env, storage) && (appHost === '' || hostname !== appHost);
  const isVirtualHosted = s3Host !== '' && hostname.endsWith(`.${s3Host}`);
  if (isApp && !isVirtualHosted) {
    if (isApiPath(path)) return 'api';
    if (path === '/_' || path.startsWith('/_/')) return 'web';
    const isBrowser =
      request.method === 'GET' &&
      !request.headers.has('authorization') &&
      (request.headers.get('accept') ?? '').includes('text/html');
    if (path === '/' && (isBrowser || !isStorage)) return 'welcome';
  }
  return isStorage ? 'storage' : 'api';
}

const isHostPath = (hostname: string, path: string): boolean =>
  PRODUCTS.some(({ hostPaths }) => hostPaths?.some((each) => hostname.startsWith(each.host) && path === each.path));

const isApiPath = (path: string): boolean =>
  path === '/v1' || path.startsWith('/v1/') || PRODUCTS.some(({ paths }) => paths?.includes(path));

/** Splits a URL as it was sent, not with `new URL()`, which would collapse `..` and `.` in keys. */
function splitUrl(url: string): Target {
  const match = /^https?:\/\/([^/?#]*)([^?#]*)/.exec(url);
  return { host: match?.[1] ?? '', path: match?.[2] || '/' };
}

export default {
  async fetch(request, env, ctx): Promise<Response> {
    const startedAt = Date.now();
    return runInvocation(env, readTraceParent(request.headers.get('traceparent')), async () => {
      const response = await route(request, env, ctx, startedAt).catch((error: unknown) => {
        const found = findMisconfigured(error);
        if (found === null) throw error;
        logError('misconfigured', error);
        return toProblemResponse(misconfigured(found), crypto.randomUUID());
      });
      addStrictTransport(response, request, env);
      return response;
    });
  },

  async email(message, env): Promise<void> {
    // The sender treats an exception as a temporary failure and tries again, so no mail is lost while PRODUCTS is being corrected.
    if (!isServed(env, mail)) throw new Error('PRODUCTS does not include mail');
    await runInvocation(env, undefined, () => mail.receiveEmail(message, guardedEnv(env)));
  },

  async queue(batch, env, ctx): Promise<void> {
    await runInvocation(env, undefined, async () => {
      const { consumeQueue } = await import('./shared/background.ts');
      return consumeQueue(PRODUCTS, batch, guardedEnv(env), ctx);
    });
  },

  async scheduled(controller, env, ctx): Promise<void> {
    await runInvocation(env, undefined, async () => {
      const { runSchedules } = await import('./shared/background.ts');
      return runSchedules(PRODUCTS, controller, guardedEnv(env), ctx);
    });
  },
} satisfies ExportedHandler<Env>;

async function route(request: Request, env: Env, ctx: ExecutionContext, startedAt: number): Promise<Response> {
  const target = splitUrl(request.url);
  const destination = decideDestination(request, target, env);
  const response = screen(destination, request, env) ?? (await answer(destination, request, env, ctx));
  const ms = Date.now() - startedAt;
  const operation = operationOf(PRODUCTS, destination, { method: request.method, path: target.path });
  countOperation(env, operation, toOutcome(response.status), ms);
  if (isLogged(response.status, ms, env)) {
    const { method } = request;
    logInfo('request', {
      product: destination,
      method,
      status: response.status,
      ms,
      request_id: response.headers.get('x-request-id'),
    });
  }
  return response;
}

/** Refuses or redirects requests that no product may handle. @returns the answer, or null if a product may handle the request. */
function screen(destination: Destination, request: Request, env: Env): Response | null {
  const transport = decideTransport(request, env);
  if (transport === 'redirect') return redirectToHttps(request.url);
  const refuse = (refusal: Problem) => toProblemResponse(refusal, crypto.randomUUID());
  if (transport === 'refuse') {
    if (destination === 'storage') return refusePlainHttp(request);
    return refuse(problem(403, 'https_required', 'Send the request over HTTPS.'));
  }
  // Refused, because a stored file must never become the service worker of our own pages.
  if (destination !== 'web' && request.headers.get('service-worker') === 'script')
    return refuse(problem(403, 'no_service_worker', 'Only the app’s own files may be service workers.'));
  return null;
}

/** What an operator reads to find out why requests are refused. It answers also while a database is refused. */
const REPORTS = new Set(['/v1/health', '/v1/metrics', '/metrics', '/v1/collectors']);

async function answer(destination: Destination, request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  switch (destination) {
    case 'api': {
      const { path } = splitUrl(request.url);
      const isReport = request.method === 'GET' && REPORTS.has(path);
      const asked = await withClientOfBridge(request, env, () => createClock(env)());
      if (!asked.ok) return toProblemResponse(asked.error, crypto.randomUUID());
      return (await composedApi(env, path)).fetch(asked.value, isReport ? env : guardedEnv(env), ctx);
    }
    case 'web':
      return serveWebApp(request, env, (pathname) => isAbsentPage(PRODUCTS, env, pathname));
    case 'welcome':
      return new Response(null, { status: 302, headers: { location: '/_/', 'cache-control': 'no-store' } });
    case 'storage':
      ctx.waitUntil(beginComparisons(env));
      return serveStorage(request, guardedEnv(env), ctx);
  }
}

/** Loads the JSON API with its first request, because its schemas are most of what an isolate evaluates. */
async function composedApi(env: Env, path: string) {
  const { apiOf } = await import('./shared/compose-api.ts');
  return apiOf(PRODUCTS, env, path);
}
