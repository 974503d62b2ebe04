/** Checks URLs that the service calls although others chose them: in mail, or as clients. */
import { settingsOf } from './settings.ts';

/** Ports of HTTPS services. Others could be mail servers or shells. The empty text is 443. */
const PORTS = new Set(['', '8443']);
const INTERNAL = /(?:^|\.)(?:localhost|local|internal|home\.arpa|onion|invalid)$/;

/**
 * Whether the service may call a URL: only over HTTPS, at a port of HTTPS, to a public name that is not this service. Others thus cannot make it call
 * itself or a private network (SSRF).
 */
export function isPublicUrl(env: Env, url: string): boolean {
  if (!URL.canParse(url) || url.length > 2_000) return false;
  const { protocol, hostname, port, username, password } = new URL(url);
  if (username !== '' || password !== '') return false;
  if (settingsOf(env).LOCAL === '1' && protocol === 'http:' && hostname === '127.0.0.1') return true;
  return protocol === 'https:' && PORTS.has(port) && isPublicName(env, hostname);
}

/** Whether a host name in lower case is a public name that is not this service. An IP address is none. */
export function isPublicName(env: Env, hostname: string): boolean {
  const { APP_HOST, S3_HOST } = settingsOf(env);
  const name = hostname.replace(/\.$/, '');
  const isName = /^(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]*$/.test(name);
  const isOwn = [APP_HOST, S3_HOST].some((host) => host !== '' && (name === host || name.endsWith(`.${host}`)));
  return isName && !isOwn && !INTERNAL.test(name);
}
