/**
 * What the checks say of a message. Members are single words, so that a verdict is stored and shown as it is: `spam` and
 * `authentication` are members of a message in the JSON API.
 */

/** One rule that spoke: positive scores speak for junk, negative ones for wanted mail. `text` is for people. */
export interface SpamReason {
  readonly rule: string;
  readonly score: number;
  readonly text: string;
}

/**
 * `junk` belongs into Junk. `reject` is so certain that sending it out is refused; on the way in it was accepted already
 * and goes to Junk too (a bounce would hit a forged sender).
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
  /** Where it was found: file names from the outside in, such as `a.zip/b.zip/c.exe`; empty for the message itself. */
  readonly part: string;
}

/**
 * `infected`: a known signature. `blocked`: a type that is not let through (programs, double extensions).
 * `not_scanned`: something could not be looked into (encrypted, too deep, too large); nobody says that it is clean.
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
  /** The domain that was checked, and where it was taken from. */
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
  /** Whether `domain` is aligned with the From header's domain (RFC 7489 §3.1.1, by the policy that was found). */
  readonly aligned: boolean;
  readonly reason: string;
}

export interface DmarcVerdict {
  readonly result: 'none' | 'pass' | 'fail' | 'temperror' | 'permerror';
  /** The From header's domain. */
  readonly domain: string;
  /** The published policy that applies to this domain, null when there is none. */
  readonly policy: 'none' | 'quarantine' | 'reject' | null;
  /** What the domain's owner asks to be done with this very message (after `pct`). */
  readonly disposition: 'none' | 'quarantine' | 'reject';
  readonly reason: string;
}

/** RFC 8617: the chain as it stands in the message. */
export interface ArcVerdict {
  readonly result: 'none' | 'pass' | 'fail' | 'temperror';
  readonly instances: number;
  /** Domain of the newest seal, and what that hop says it saw. */
  readonly domain: string;
  readonly results: string;
  /** Domains of all seals, the first hop's first, and what that first hop says it saw. */
  readonly sealers: readonly string[];
  readonly firstResults: string;
  /** The operator trusts every sealer, and the first one saw DMARC pass: the message was good before it was passed on. */
  readonly isTrusted: boolean;
  readonly reason: string;
}

export interface Authentication {
  readonly spf: SpfVerdict;
  readonly dkim: readonly DkimVerdict[];
  readonly dmarc: DmarcVerdict;
  readonly arc: ArcVerdict;
  /** Written here by a user who was known: nothing else has to vouch for From. */
  readonly submitted?: true;
}

export interface Verdicts {
  readonly spam: SpamVerdict;
  readonly virus: VirusVerdict;
  readonly authentication: Authentication;
  /** Hashes of what the classifier read: kept by whoever wants to train on this message later (`trainUserModel`). */
  readonly tokens: Uint32Array;
}

/** A scanner or resolver that the operator configured gave no answer: try again later; never taken for "clean". */
export interface Deferred {
  readonly kind: 'deferred';
  readonly reason: string;
}
