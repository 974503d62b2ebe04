/** Describes the results of the mail checks in plain words. Pure. */
import type { Authentication, SpamVerdict } from '../../../workers/mail/checks/verdicts.ts';

export interface Finding {
  tone: 'good' | 'warn' | 'bad';
  text: string;
}

export function describeAuthentication(authentication: Authentication | null | undefined): Finding[] {
  if (!authentication) return [];
  const { dmarc, dkim, spf } = authentication;
  const findings: Finding[] = [];
  const signed = dkim?.find((one) => one.result === 'pass' && one.aligned);
  if (dmarc?.result === 'pass') {
    findings.push({ tone: 'good', text: `Really from ${dmarc.domain}: its domain vouches for this message.` });
  } else if (dmarc?.result === 'fail') {
    findings.push({
      tone: 'bad',
      text: `Probably not from ${dmarc.domain}: the domain does not vouch for this message.`,
    });
  } else
    findings.push({
      tone: 'warn',
      text: 'Nobody can tell whether the sender is who they say: their domain publishes no policy.',
    });
  if (signed) findings.push({ tone: 'good', text: `Signed by ${signed.domain} and unchanged on its way.` });
  else if (dkim?.some((one) => one.result === 'fail')) {
    findings.push({
      tone: 'warn',
      text: 'It carries a signature that does not fit: it was changed on its way, or forged.',
    });
  }
  if (spf?.result === 'pass') findings.push({ tone: 'good', text: `Sent by a server of ${spf.domain}.` });
  else if (spf?.result === 'fail' || spf?.result === 'softfail') {
    findings.push({ tone: 'warn', text: `Sent by a server that ${spf.domain} does not list as its own.` });
  }
  return findings;
}

/** Reasons of the spam filter, strongest first: signs of junk apart from signs of good mail. */
export interface SpamReasons {
  title: string;
  against: string[];
  inFavour: string[];
}

const REASONS_MAX = 6;

export function describeSpam(spam: SpamVerdict | null | undefined): SpamReasons | null {
  if (!spam) return null;
  const strongest = (spam.reasons ?? []).toSorted((a, b) => Math.abs(b.score) - Math.abs(a.score));
  const texts = (isJunk: boolean) =>
    strongest
      .filter((reason) => (isJunk ? reason.score > 0 : reason.score < 0))
      .slice(0, REASONS_MAX)
      .map((reason) => reason.text);
  return {
    title: spam.verdict === 'ham' ? 'Not junk' : 'Looks like junk',
    against: texts(true),
    inFavour: texts(false),
  };
}
