/**
 * The web app under `/_/`: static pages with a security policy of their own. Deep links are hash routes.
 *
 * By design: a policy names `/_/assets/`, never `'self'` alone, because stored objects share the origin on loopback. No page allows
 * inline script. Only `/_/embed/…` may be framed by other sites. A message's HTML is shown in the frame `/_/mail-frame`, which
 * allows no script at all; with `?images=1` it loads remote images. Unknown paths get the page `not-found.html` with status 404.
 */
import { version } from '../../../package.json';
import { settingsOf } from '../settings/settings.ts';
import type { WebConfig } from './web-config.ts';

const SERVICE_WORKER = '/_/sw.js';
/** The web app manifest, with which a browser can install the mail page. */
const MANIFEST = '/_/mail.webmanifest';
const NOT_FOUND_PAGE = '/_/not-found.html';

type Policy = Record<string, string>;

function toPolicy(directives: Policy): string {
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}

/** Host and port of storage: the default port at the edge, the port of the page during development. */
const storageAuthority = (url: URL, env: Env): string => `${settingsOf(env).S3_HOST}${url.port ? `:${url.port}` : ''}`;

function appPolicy(url: URL, env: Env): string {
  const assets = `${url.origin}/_/assets/`;
  const isMail = url.pathname === '/_/mail';
  const authority = storageAuthority(url, env);
  const storage = settingsOf(env).S3_HOST ? ` ${url.protocol}//${authority} ${url.protocol}//*.${authority}` : '';
  return toPolicy({
    'default-src': "'none'",
    'script-src': assets,
    'style-src': assets,
    'font-src': assets,
    'img-src': `${assets} blob: data:`,
    // In current browsers 'self' includes a page's own WebSockets, but not in older ones, so they are listed.
    'connect-src': `'self' ${url.protocol === 'https:' ? 'wss' : 'ws'}://${url.host}${storage}`,
    'frame-src': isMail ? toFrames(url, env) : toEmbeds(url),
    'manifest-src': isMail ? `${url.origin}${MANIFEST}` : "'none'",
    // Only the mail page needs the service worker, which lets it open offline.
    'worker-src': isMail ? `${url.origin}${SERVICE_WORKER}` : "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': url.pathname.startsWith('/_/embed/') ? '*' : "'none'",
    'require-trusted-types-for': "'script'",
    // Only the mail page converts text to markup, through the policy `message`, which sanitizes it. Only that page registers a
    // service worker.
    'trusted-types': isMail ? 'message service-worker' : "'none'",
  });
}

/** Pages that the leaderboard page may frame: it shows a preview of the embedded board. */
const toEmbeds = ({ origin, pathname }: URL): string =>
  pathname === '/_/leaderboard' ? `${origin}/_/embed/leaderboard` : "'none'";

const toFrames = ({ origin }: URL, env: Env): string =>
  `${origin}/_/mail-frame${settingsOf(env).TURNSTILE_SITE_KEY === '' ? '' : ` ${origin}/_/turnstile`}`;

/**
 * Policy of the frame that shows the Turnstile widget. It allows what Cloudflare documents, without Trusted Types
 * (https://developers.cloudflare.com/turnstile/reference/content-security-policy/).
 */
function challengePolicy(url: URL): string {
  const assets = `${url.origin}/_/assets/`;
  return toPolicy({
    'default-src': "'none'",
    'script-src': `${assets} https://challenges.cloudflare.com`,
    'style-src': assets,
    'connect-src': "'self'",
    'frame-src': 'https://challenges.cloudflare.com',
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'self'",
  });
}

/**
 * Policy of the frame that shows untrusted HTML of a message. It allows no script, form or connection, but inline styles. Only the
 * mail page may embed the frame.
 */
function messagePolicy(url: URL): string {
  return toPolicy({
    'default-src': "'none'",
    'img-src': url.searchParams.get('images') === '1' ? 'https: http: data: blob:' : 'data: blob:',
    'style-src': "'unsafe-inline'",
    'base-uri': "'none'",
    'form-action': "'none'",
    // Browsers compare only the origins of ancestors, so a path here would match nothing.
    'frame-ancestors': "'self'",
    sandbox: 'allow-same-origin allow-popups allow-popups-to-escape-sandbox',
  });
}

function toConfig(url: URL, env: Env): WebConfig {
  const settings = settingsOf(env);
  return {
    version,
    products: [...settings.PRODUCTS],
    storage_endpoint: settings.S3_HOST ? `${url.protocol}//${storageAuthority(url, env)}` : null,
    mail_domains: settings.MAIL_DOMAINS,
    registration: settings.REGISTRATION,
    turnstile_site_key: settings.TURNSTILE_SITE_KEY || null,
    passwords: settings.PASSWORDS === 'on',
    sign_in_with: settings.OIDC_ISSUER === '' ? null : settings.OIDC_NAME || new URL(settings.OIDC_ISSUER).host,
    storage_sign_in: settings.OIDC_ISSUER !== '' && settings.OIDC_STORAGE_KEYS !== '',
    access: settings.ACCESS_ISSUER !== '',
  };
}

function toPage(pathname: string): string {
  if (pathname.endsWith('/')) return `${pathname}index.html`;
  return /\.[a-z0-9]+$/i.test(pathname) ? pathname : `${pathname}.html`;
}

/**
 * Cache-Control of a file. Assets are immutable, because their names contain a hash of their content. At the edge, `_headers` sets
 * the same values.
 */
function cacheControl(pathname: string): string {
  if (pathname === '/_/config.json') return 'no-store';
  return pathname.startsWith('/_/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
}

const CHALLENGE_PAGE = '/_/turnstile';
const isChallengePage = (url: URL, env: Env): boolean =>
  url.pathname === CHALLENGE_PAGE && settingsOf(env).TURNSTILE_SITE_KEY !== '';

function toPagePolicy(url: URL, env: Env): string {
  if (url.pathname === '/_/mail-frame') return messagePolicy(url);
  return isChallengePage(url, env) ? challengePolicy(url) : appPolicy(url, env);
}

const toNotFound = (page: Response): Response =>
  new Response(page.body, { status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } });

const COMPRESSIBLE = /^(?:text\/|application\/(?:javascript|json)|image\/svg)/;

/** Compresses a response during development, as the edge does in production. The runtime encodes the body. */
function compressLocally(request: Request, response: Response, env: Env): void {
  const { headers } = response;
  if (!settingsOf(env).LOCAL || response.body === null || request.method === 'HEAD') return;
  if (!COMPRESSIBLE.test(headers.get('content-type') ?? '')) return;
  headers.append('vary', 'accept-encoding');
  if (/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) headers.set('content-encoding', 'gzip');
}

/**
 * Answers requests for the web app.
 * @param isAbsent whether a path is a page of a product that is not served. Such a path gets the answer of an unknown page.
 */
export async function serveWebApp(
  request: Request,
  env: Env,
  isAbsent: (pathname: string) => boolean,
): Promise<Response> {
  const url = new URL(request.url);
  if (url.pathname === '/_') return new Response(null, { status: 301, headers: { location: '/_/' } });
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return new Response('Method not allowed', { status: 405, headers: { allow: 'GET, HEAD' } });
  }
  const { method, headers } = request;
  const isConfig = url.pathname === '/_/config.json';
  const asset = isConfig
    ? Response.json(toConfig(url, env))
    : await env.ASSETS.fetch(new Request(new URL(toPage(url.pathname), url), { method, headers }));
  const isUnused = isAbsent(url.pathname) || (url.pathname === CHALLENGE_PAGE && !isChallengePage(url, env));
  const isMissing = isUnused || (asset.status === 404 && !url.pathname.startsWith('/_/assets/'));
  const response = isMissing
    ? toNotFound(await env.ASSETS.fetch(new Request(new URL(NOT_FOUND_PAGE, url), { method })))
    : new Response(asset.body, asset);
  response.headers.set('x-content-type-options', 'nosniff');
  response.headers.set('referrer-policy', 'no-referrer');
  response.headers.set('cross-origin-opener-policy', 'same-origin');
  response.headers.set('content-security-policy', toPagePolicy(url, env));
  if (asset.ok) response.headers.set('cache-control', cacheControl(url.pathname));
  if (asset.ok || isMissing) compressLocally(request, response, env);
  return response;
}
