/** Authenticates mail: SPF (RFC 7208), DKIM (RFC 6376, 8301, 8463), DMARC (RFC 9989), ARC (RFC 8617). */

import { readHeaders } from '../../mime/mime-tree.ts';
import type { CheckDependencies, CheckSettings } from '../dependencies.ts';
import type { Authentication } from '../verdicts.ts';
import { noChain, verifyArc } from './arc.ts';
import { hashBody } from './canonical-form.ts';
import { type DigestBody, verifyDkim } from './dkim.ts';
import { checkDmarc } from './dmarc.ts';
import { findProvenSender } from './proven-sender.ts';
import { createKeyRing } from './signature.ts';
import { checkSpf } from './spf.ts';
import { isChainTrusted, overrideDisposition } from './trusted-chain.ts';

export { BodyDigests } from './body-digests.ts';

export interface MessageToAuthenticate {
  /** The raw message. If `digestBody` is set, a beginning that contains the whole header is enough. */
  readonly raw: Uint8Array;
  /** Body hashes from a `BodyDigests` that read the whole message. */
  readonly digestBody?: DigestBody;
  readonly envelope: { readonly from: string };
  readonly clientIp: string | null;
  readonly helo: string | null;
  readonly direction: 'inbound' | 'outbound';
}

/** Authenticates a message. Never fails: a failed look-up is `temperror` in its verdict. */
export async function authenticateMessage(
  message: MessageToAuthenticate,
  dependencies: Pick<CheckDependencies, 'resolveDns' | 'now'>,
  settings: Pick<CheckSettings, 'ARC_TRUSTED_SEALERS'> = {},
): Promise<Authentication> {
  if (message.direction === 'outbound') return ownMessage(message.envelope.from);
  const { resolveDns } = dependencies;
  const now = dependencies.now();
  const { headers, bodyStart } = readHeaders(message.raw);
  const digestBody = message.digestBody ?? toDigestBody(message.raw.subarray(bodyStart));
  const signed = { headers, digestBody };
  const keys = createKeyRing(resolveDns);
  const question = { clientIp: message.clientIp, helo: message.helo, sender: message.envelope.from };
  const [spf, signatures, chain] = await Promise.all([
    checkSpf(question, resolveDns, now),
    verifyDkim(signed, keys, now),
    verifyArc(signed, keys, now),
  ]);
  const { dmarc, dkim } = await checkDmarc(headers, spf, signatures, resolveDns);
  const arc = { ...chain, isTrusted: isChainTrusted(chain, dmarc.domain, settings.ARC_TRUSTED_SEALERS ?? []) };
  const results = { spf, dkim, dmarc: overrideDisposition(dmarc, arc), arc };
  return { ...results, sender: findProvenSender(headers, results) };
}

const toDigestBody =
  (body: Uint8Array): DigestBody =>
  (form, algorithm, lengthMax) =>
    hashBody(body, form, algorithm, lengthMax);

/** @returns the verdict for mail of our own users, whom their session authenticates. Makes no DNS query. */
function ownMessage(from: string): Authentication {
  const reason = 'sent by a user of this service';
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return {
    spf: { result: 'none', domain, identity: 'mailfrom', reason },
    dkim: [],
    dmarc: { result: 'none', domain, policy: null, disposition: 'none', reason },
    arc: noChain('none', reason),
    sender: { address: from === '' ? null : from.toLowerCase(), list: null },
    submitted: true,
  };
}
