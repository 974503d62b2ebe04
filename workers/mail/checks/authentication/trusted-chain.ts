/**
 * Decides whether an ARC chain (RFC 8617) overrides a DMARC failure. A mailing list or forwarder breaks DMARC without bad intent,
 * and records the results it saw before. These results count only if the operator trusts every sealer, because anyone can seal
 * false results. Pure.
 */
import type { ArcVerdict, DmarcVerdict } from '../verdicts.ts';
import { toOrganizationalDomain } from './dmarc.ts';

/** @param trusted domains that sign seals, in lower case: the setting `ARC_TRUSTED_SEALERS`. */
export function isChainTrusted(arc: ArcVerdict, from: string, trusted: readonly string[]): boolean {
  return (
    arc.result === 'pass' && arc.sealers.every((sealer) => trusted.includes(sealer)) && sawPass(arc.firstResults, from)
  );
}

/** A local policy may override the disposition that the domain requests (RFC 7489 §6.7). The DMARC result itself stays. */
export function overrideDisposition(dmarc: DmarcVerdict, arc: ArcVerdict): DmarcVerdict {
  if (dmarc.result !== 'fail' || !arc.isTrusted) return dmarc;
  return {
    ...dmarc,
    disposition: 'none',
    reason: `${dmarc.reason}, but it passed before ${arc.sealers[0]} forwarded it`,
  };
}

/** Results are separated by semicolons, each with its properties (RFC 8601 §2.2). */
function sawPass(results: string, from: string): boolean {
  return results
    .replace(/\([^()]*\)/g, ' ')
    .split(';')
    .some((result) => {
      if (!/^\s*dmarc\s*=\s*pass(?:\s|$)/i.test(result)) return false;
      const about = /\sheader\.from\s*=\s*"?([^\s";]+)/i.exec(result)?.[1]?.toLowerCase();
      return about !== undefined && toOrganizationalDomain(about) === toOrganizationalDomain(from);
    });
}
