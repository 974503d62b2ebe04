/** Describes the results of the mail checks in plain words. Pure. */
import type { Authentication, SpamVerdict } from '../../../workers/mail/checks/verdicts.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';

const { verdicts: t } = mailTexts;

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
    findings.push({ tone: 'good', text: fill(t.verified, { domain: dmarc.domain }) });
  } else if (dmarc?.result === 'fail') {
    findings.push({
      tone: 'bad',
      text: fill(t.unverified, { domain: dmarc.domain }),
    });
  } else
    findings.push({
      tone: 'warn',
      text: t.unknown,
    });
  if (signed) findings.push({ tone: 'good', text: fill(t.signed, { domain: signed.domain }) });
  else if (dkim?.some((one) => one.result === 'fail')) {
    findings.push({
      tone: 'warn',
      text: t.badSignature,
    });
  }
  if (spf?.result === 'pass') findings.push({ tone: 'good', text: fill(t.server, { domain: spf.domain }) });
  else if (spf?.result === 'fail' || spf?.result === 'softfail') {
    findings.push({ tone: 'warn', text: fill(t.foreignServer, { domain: spf.domain }) });
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
    title: spam.verdict === 'ham' ? t.ham : t.spam,
    against: texts(true),
    inFavour: texts(false),
  };
}
