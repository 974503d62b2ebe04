/**
 * Verdicts of the checks. Names of members are single words, so a stored verdict needs no conversion for the JSON API, where `spam`
 * and `authentication` are members of a message.
 */

/** A rule that matched. A positive score indicates junk, a negative one wanted mail. `text` is for people. */
export interface SpamReason {
  readonly rule: string;
  readonly score: number;
  readonly text: string;
}

/**
 * `junk`: the message goes to Junk. `reject`: certainly junk. Outgoing mail is refused then. Incoming mail goes to Junk, because it
 * was accepted already, and a bounce would go to a forged sender.
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
  /** Path of file names from the outermost to the innermost, such as `a.zip/b.zip/c.exe`; empty for the message itself. */
  readonly part: string;
}

/**
 * `infected`: a known signature. `blocked`: a forbidden type (programs, double extensions). `not_scanned`: a part could not be
 * scanned (encrypted, nested too deep, too large), so it may be malicious.
 */
export interface VirusVerdict {
  readonly verdict: 'clean' | 'infected' | 'blocked' | 'not_scanned';
  readonly reasons: readonly VirusReason[];
  readonly engine: 'built-in' | 'clamd';
}

/** Results of SPF (RFC 7208 §2.6). */
export type SpfResult = 'none' | 'neutral' | 'pass' | 'fail' | 'softfail' | 'temperror' | 'permerror';

export interface SpfVerdict {
  readonly result: SpfResult;
  /** The domain that was checked. `identity` says where it came from. */
  readonly domain: string;
  readonly identity: 'mailfrom' | 'helo';
  readonly reason: string;
}

/** Results of DKIM (RFC 8601 §2.7.1). */
export type DkimResult = 'none' | 'pass' | 'fail' | 'policy' | 'neutral' | 'temperror' | 'permerror';

export interface DkimVerdict {
  readonly result: DkimResult;
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: string;
  /** Whether `domain` is aligned with the domain in From: strictly or relaxed, as the published policy requires. */
  readonly aligned: boolean;
  /** Set if the signature covers both List-Unsubscribe and List-Unsubscribe-Post, as RFC 8058 §4 requires. */
  readonly unsubscribe?: true;
  readonly reason: string;
}

export interface DmarcVerdict {
  readonly result: 'none' | 'pass' | 'fail' | 'temperror' | 'permerror';
  /** The domain in From, which DMARC checks. */
  readonly domain: string;
  /** The policy published for this domain; null if there is none. */
  readonly policy: 'none' | 'quarantine' | 'reject' | null;
  /** What the domain owner requests for this message. It is one level milder if the record has `t=y`. */
  readonly disposition: 'none' | 'quarantine' | 'reject';
  readonly reason: string;
}

/** Verdict about the ARC chain of the message (RFC 8617). */
export interface ArcVerdict {
  readonly result: 'none' | 'pass' | 'fail' | 'temperror';
  readonly instances: number;
  /** Domain of the newest seal. `results` are the authentication results that this hop recorded. */
  readonly domain: string;
  readonly results: string;
  /** Domains of all seals, the first hop first. `firstResults` are the authentication results that the first hop recorded. */
  readonly sealers: readonly string[];
  readonly firstResults: string;
  /**
   * True if the operator trusts every sealer, and the first one recorded a DMARC pass: the message was authentic before it was
   * forwarded.
   */
  readonly isTrusted: boolean;
  readonly reason: string;
}

/** The sender that authentication proves. Addresses are in lower case, domains in A-labels. */
export interface ProvenSender {
  /**
   * The address in From if DMARC passes, or passed before trusted forwarders; for a domain without a policy, if an aligned SPF or
   * DKIM passes. Null if it is not proven.
   */
  readonly address: string | null;
  /** The identifier of List-Id, if it belongs to the domain of a valid signature or of a proven From. Otherwise null. */
  readonly list: string | null;
}

export interface Authentication {
  readonly spf: SpfVerdict;
  readonly dkim: readonly DkimVerdict[];
  readonly dmarc: DmarcVerdict;
  readonly arc: ArcVerdict;
  /** The proven author or mailing list of the message. Absent in verdicts that were made without a message. */
  readonly sender?: ProvenSender;
  /** Set if From claims a domain that is hosted here, but authentication does not prove it. */
  readonly unproven_hosted_domain?: true;
  /** Set if an authenticated user of this service submitted the message. From needs no other authentication. */
  readonly submitted?: true;
}

export interface Verdicts {
  readonly spam: SpamVerdict;
  readonly virus: VirusVerdict;
  readonly authentication: Authentication;
  /** Hashes of the classifier's tokens. Keep them to train on this message later (`trainUserModel`). */
  readonly tokens: Uint32Array;
}

/** A configured scanner or resolver gave no answer. Retry later; never treat it as "clean". */
export interface Deferred {
  readonly kind: 'deferred';
  readonly reason: string;
}
