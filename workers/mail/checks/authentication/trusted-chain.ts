/**
 * What a chain of seals (RFC 8617) is worth: a list or a forwarder breaks DMARC without meaning ill, and says what it saw before.
 * That counts only where the operator trusts everybody who sealed, since anybody may seal and say what they like. Pure.
 */
import type { ArcVerdict, DmarcVerdict } from '../verdicts.ts';
import { toOrganizationalDomain } from './dmarc.ts';

/** @param trusted `ARC_TRUSTED_SEALERS`: domains that sign seals, in lower case. */
export function isChainTrusted(arc: ArcVerdict, from: string, trusted: readonly string[]): boolean {
  return (
    arc.result === 'pass' && arc.sealers.every((sealer) => trusted.includes(sealer)) && sawPass(arc.firstResults, from)
  );
}

/** RFC 7489 §6.7: a local policy overrides what the domain asks for; the result stays what it is. */
export function overrideDisposition(dmarc: DmarcVerdict, arc: ArcVerdict): DmarcVerdict {
  if (dmarc.result !== 'fail' || !arc.isTrusted) return dmarc;
  return {
    ...dmarc,
    disposition: 'none',
    reason: `${dmarc.reason}, but it passed before ${arc.sealers[0]} passed it on`,
  };
}

/** RFC 8601 §2.2: results stand between semicolons, each with its properties. */
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
