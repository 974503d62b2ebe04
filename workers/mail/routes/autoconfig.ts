/** Tells programs of IMAP where the operator's bridge is: `/.well-known/autoconfig/…`, and the same at `autoconfig.<domain>`. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type JsonApiEnv, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { readBridge } from '../bindings/bridge.ts';
import { AUTOCONFIG_HOST, AUTOCONFIG_HOST_PATH, AUTOCONFIG_PATH, toAutoconfig } from '../domain/autoconfig.ts';
import { toAsciiDomain } from '../domain/mail-path.ts';
import { isHostedDomain } from '../domains/hosted-domains.ts';

const NOT_OFFERED = problem(404, 'not_found', 'No settings for mail programs are published for this domain.');

export function addAutoconfig(api: OpenAPIHono<JsonApiEnv>): void {
  api.get(AUTOCONFIG_PATH, answer);
  api.get(AUTOCONFIG_HOST_PATH, answer);
}

async function answer(c: Context<JsonApiEnv>): Promise<Response> {
  const bridge = readBridge(c.env);
  const { host, hostname } = new URL(c.req.url);
  const address = c.req.query('emailaddress') ?? '';
  const named = address.includes('@') ? address.slice(address.lastIndexOf('@') + 1) : '';
  const ofHost = hostname.startsWith(AUTOCONFIG_HOST) ? hostname.slice(AUTOCONFIG_HOST.length) : hostname;
  const domain = toAsciiDomain(named === '' ? ofHost : named);
  if (bridge === null || domain === null || !(await isHostedDomain(c.env, domain))) return sendProblem(c, NOT_OFFERED);
  const page = `https://${settingsOf(c.env).APP_HOST || host}/_/mail#/settings/devices`;
  return c.body(toAutoconfig(domain, bridge, page), 200, {
    'content-type': 'application/xml; charset=utf-8',
    'cache-control': 'public, max-age=3600',
  });
}
