/** External dependencies of the checks. `production-dependencies.ts` provides them in production; tests provide their own. */
import type { Result } from '../../shared/pure/result.ts';
import type { Settings } from '../../shared/settings/settings.ts';

export type DnsRecordType = 'A' | 'AAAA' | 'MX' | 'TXT' | 'PTR' | 'SRV';

/**
 * Failures of a DNS look-up. `no_such_domain` is an answer: NXDOMAIN. `unreachable` means no answer: a timeout, SERVFAIL, or a
 * resolver that is down.
 */
export type DnsFailure =
  | { readonly kind: 'no_such_domain' }
  | { readonly kind: 'unreachable'; readonly reason: string };

/**
 * @param name domain name without the final dot.
 * @returns the records, or an empty list if the name exists without a record of this type. A TXT record is its strings joined; an
 * MX record has the form `10 host`.
 */
export type ResolveDns = (name: string, type: DnsRecordType) => Promise<Result<readonly string[], DnsFailure>>;

/** The part of a `cloudflare:sockets` socket that a scanner client uses. */
export interface ScannerSocket {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  close(): Promise<void>;
}

export interface CheckDependencies {
  readonly resolveDns: ResolveDns;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  readonly connect: (address: { hostname: string; port: number }) => ScannerSocket;
  /** @returns the time in milliseconds since 1970. */
  readonly now: () => number;
}

/** Settings of the checks. If a scanner's setting is empty or absent, the built-in check is used. */
export type CheckSettings = Partial<
  Pick<Settings, 'RSPAMD_URL' | 'RSPAMD_PASSWORD' | 'CLAMD_ADDRESS' | 'SCANNER_TIMEOUT_SECONDS' | 'ARC_TRUSTED_SEALERS'>
>;

const SCANNER_TIMEOUT_SECONDS = 60;

export const readScannerTimeoutMs = (settings: CheckSettings): number =>
  (settings.SCANNER_TIMEOUT_SECONDS ?? SCANNER_TIMEOUT_SECONDS) * 1000;
