/**
 * Dependencies of the checks in production. They have a file of their own, because `cloudflare:sockets` exists only inside workerd.
 */
import { connect } from 'cloudflare:sockets';
import { err } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import type { CheckDependencies } from './dependencies.ts';
import { createDnsOverHttps, DNS_OVER_HTTPS_URL_DEFAULT } from './dns-over-https.ts';

let resolver: { url: string; resolveDns: CheckDependencies['resolveDns'] } | null = null;

/**
 * Creates the resolver. `DNS_OVER_HTTPS_URL` selects another one than Cloudflare's. A local server without this setting sends no
 * DNS query: results are `temperror`, and no test reaches the network.
 */
export function createCheckDependencies(env: Env): CheckDependencies {
  const settings = settingsOf(env);
  const url = settings.DNS_OVER_HTTPS_URL || (settings.LOCAL === '1' ? '' : DNS_OVER_HTTPS_URL_DEFAULT);
  const fetchUrl: CheckDependencies['fetch'] = (input, init) => fetch(input, init);
  if (resolver?.url !== url) {
    resolver = {
      url,
      resolveDns: url === '' ? askNobody : createDnsOverHttps(url, { fetch: fetchUrl, now: Date.now }),
    };
  }
  return {
    resolveDns: resolver.resolveDns,
    fetch: fetchUrl,
    connect: (address) => connect(address),
    now: createClock(env),
  };
}

const askNobody: CheckDependencies['resolveDns'] = async () =>
  err({ kind: 'unreachable', reason: 'no resolver is configured' });
