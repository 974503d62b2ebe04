/**
 * DNS over HTTPS in the JSON format of Cloudflare and Google
 * (https://developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json/).
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import type { CheckDependencies, DnsFailure, DnsRecordType, ResolveDns } from './dependencies.ts';

export const DNS_OVER_HTTPS_URL_DEFAULT = 'https://cloudflare-dns.com/dns-query';
const TIMEOUT_MS = 4_000;
/**
 * Time for which a resolver is not queried after it failed to answer. Without this pause, a message would wait for a timeout on
 * every look-up.
 */
const PAUSE_AFTER_FAILURE_MS = 20_000;
const TYPE_NUMBERS: Readonly<Record<DnsRecordType, number>> = { A: 1, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33 };
const NOERROR = 0;
const NXDOMAIN = 3;

interface DnsJson {
  readonly Status: number;
  readonly Answer?: readonly { readonly type: number; readonly data: string }[];
}

/** @returns a resolver that queries `url`. After a failure, every query during the pause returns `unreachable` at once. */
export function createDnsOverHttps(url: string, dependencies: Pick<CheckDependencies, 'fetch' | 'now'>): ResolveDns {
  let restsUntil = 0;
  return async (name, type) => {
    if (dependencies.now() < restsUntil)
      return err({ kind: 'unreachable', reason: 'the resolver failed a moment ago' });
    const question = new URL(url);
    question.searchParams.set('name', name);
    question.searchParams.set('type', type);
    try {
      const response = await dependencies.fetch(question.href, {
        headers: { accept: 'application/dns-json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) return err({ kind: 'unreachable', reason: `the resolver answered ${response.status}` });
      return readAnswer((await response.json()) as DnsJson, type);
    } catch (error) {
      restsUntil = dependencies.now() + PAUSE_AFTER_FAILURE_MS;
      return err({ kind: 'unreachable', reason: error instanceof Error ? error.message : String(error) });
    }
  };
}

function readAnswer(answer: DnsJson, type: DnsRecordType): Result<readonly string[], DnsFailure> {
  if (answer.Status === NXDOMAIN) return err({ kind: 'no_such_domain' });
  if (answer.Status !== NOERROR)
    return err({ kind: 'unreachable', reason: `the resolver answered code ${answer.Status}` });
  const records = Array.isArray(answer.Answer) ? answer.Answer : [];
  return ok(
    records
      .filter((record) => record.type === TYPE_NUMBERS[type] && typeof record.data === 'string')
      .map((record) => (type === 'TXT' ? joinStrings(record.data) : record.data.replace(/\.$/, ''))),
  );
}

/**
 * Converts a TXT record from presentation format (RFC 1035 §5.1): `"v=spf1 " "-all"` becomes `v=spf1 -all`. Some resolvers omit the
 * quotes.
 */
function joinStrings(data: string): string {
  if (!data.startsWith('"')) return data;
  const strings = data.match(/"(?:[^"\\]|\\.)*"/gs) ?? [];
  return strings.map((quoted) => unescapeString(quoted.slice(1, -1))).join('');
}

function unescapeString(text: string): string {
  return text.replace(/\\(\d{3}|.)/gs, (_, escaped: string) =>
    escaped.length === 3 ? String.fromCharCode(Number(escaped)) : escaped,
  );
}
