/**
 * Verdicts of the checks. Member names are single words, so a verdict is stored and returned unchanged: `spam` and
 * `authentication` are members of a message in the JSON API.
 */

/** One rule that matched. Positive scores mean junk, negative ones wanted mail. `text` is for people. */
export interface SpamReason {
  readonly rule: string;
  readonly score: number;
  readonly text: string;
}

/**
 * `junk` goes to Junk. `reject` is certain: outgoing mail is refused. Incoming mail was already accepted and goes to Junk too,
 * because a bounce would hit a forged sender.
 */
export interface SpamVerdict {
  readonly score: number;
  readonly verdict: 'ham' | 'junk' | 'reject';
  readonly reasons: readonly SpamReason[];
  readonly engine: 'built-in' | 'rspamd';
}

export interface VirusReason {
  readonly rule: string;
  readonly text: string;
  /** Path of file names from the outside in, such as `a.zip/b.zip/c.exe`; empty for the message itself. */
  readonly part: string;
}

/**
 * `infected`: a known signature. `blocked`: a forbidden type (programs, double extensions). `not_scanned`: a part could not be
 * scanned (encrypted, too deep, too large), so it may not be clean.
 */
export interface VirusVerdict {
  readonly verdict: 'clean' | 'infected' | 'blocked' | 'not_scanned';
  readonly reasons: readonly VirusReason[];
  readonly engine: 'built-in' | 'clamd';
}

/** RFC 7208 §2.6. */
export type SpfResult = 'none' | 'neutral' | 'pass' | 'fail' | 'softfail' | 'temperror' | 'permerror';

export interface SpfVerdict {
  readonly result: SpfResult;
  /** The domain that was checked, and its source. */
  readonly domain: string;
  readonly identity: 'mailfrom' | 'helo';
  readonly reason: string;
}

/** RFC 8601 §2.7.1. */
export type DkimResult = 'none' | 'pass' | 'fail' | 'policy' | 'neutral' | 'temperror' | 'permerror';

export interface DkimVerdict {
  readonly result: DkimResult;
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: string;
  /** Whether `domain` is aligned with the domain in From (strict or relaxed, by the published policy). */
  readonly aligned: boolean;
  /** Set if the signature covers List-Unsubscribe and List-Unsubscribe-Post, as RFC 8058 §4 requires. */
  readonly unsubscribe?: true;
  readonly reason: string;
}

export interface DmarcVerdict {
  readonly result: 'none' | 'pass' | 'fail' | 'temperror' | 'permerror';
  /** The domain in From. */
  readonly domain: string;
  /** The published policy for this domain; null if there is none. */
  readonly policy: 'none' | 'quarantine' | 'reject' | null;
  /** The treatment that the domain owner requests for this message; one level milder if the record has `t=y`. */
  readonly disposition: 'none' | 'quarantine' | 'reject';
  readonly reason: string;
}

/** RFC 8617: the ARC chain of the message. */
export interface ArcVerdict {
  readonly result: 'none' | 'pass' | 'fail' | 'temperror';
  readonly instances: number;
  /** Domain of the newest seal, and the results that this hop recorded. */
  readonly domain: string;
  readonly results: string;
  /** Domains of all seals, the first hop first, and the results that the first hop recorded. */
  readonly sealers: readonly string[];
  readonly firstResults: string;
  /**
   * The operator trusts every sealer, and the first one recorded a DMARC pass: the message was authentic before it was
   * forwarded.
   */
  readonly isTrusted: boolean;
  readonly reason: string;
}

/** Addresses in lower case, domains in A-labels. */
export interface ProvenSender {
  /** The address in From, if DMARC passes, or without a policy an aligned SPF or DKIM does. Null if it is not proven. */
  readonly address: string | null;
  /** The identifier of List-Id, if the domain of a valid signature or of a proven From owns it. Null otherwise. */
  readonly list: string | null;
}

export interface Authentication {
  readonly spf: SpfVerdict;
  readonly dkim: readonly DkimVerdict[];
  readonly dmarc: DmarcVerdict;
  readonly arc: ArcVerdict;
  /** The proven author or distributor of the message. Absent in verdicts without a message. */
  readonly sender?: ProvenSender;
  /** From claims a domain that is hosted here, and nothing proves it. */
  readonly unproven_hosted_domain?: true;
  /** Submitted by an authenticated user of this service. From needs no other authentication. */
  readonly submitted?: true;
}

export interface Verdicts {
  readonly spam: SpamVerdict;
  readonly virus: VirusVerdict;
  readonly authentication: Authentication;
  /** Token hashes of the classifier. Keep them to train on this message later (`trainUserModel`). */
  readonly tokens: Uint32Array;
}

/** A configured scanner or resolver gave no answer. Retry later; never treat it as "clean". */
export interface Deferred {
  readonly kind: 'deferred';
  readonly reason: string;
}
