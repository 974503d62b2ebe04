/** External dependencies of the checks. `production-dependencies.ts` provides them in production; tests provide their own. */
import type { Result } from '../../shared/result.ts';
import type { Settings } from '../../shared/settings.ts';

export type DnsRecordType = 'A' | 'AAAA' | 'MX' | 'TXT' | 'PTR' | 'SRV';

/** `no_such_domain` is NXDOMAIN, an answer. `unreachable` means no answer: a timeout, SERVFAIL, or a resolver that is down. */
export type DnsFailure =
  | { readonly kind: 'no_such_domain' }
  | { readonly kind: 'unreachable'; readonly reason: string };

/**
 * @param name without the final dot.
 * @returns the records, or an empty list if the name exists without such a record. TXT: the strings of one record joined; MX:
 * `10 host`.
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
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Settings of the checks. Empty or absent means the built-in check. */
export type CheckSettings = Partial<
  Pick<Settings, 'RSPAMD_URL' | 'RSPAMD_PASSWORD' | 'CLAMD_ADDRESS' | 'SCANNER_TIMEOUT_SECONDS' | 'ARC_TRUSTED_SEALERS'>
>;

const SCANNER_TIMEOUT_SECONDS = 60;

export const readScannerTimeoutMs = (settings: CheckSettings): number =>
  (settings.SCANNER_TIMEOUT_SECONDS ?? SCANNER_TIMEOUT_SECONDS) * 1000;
