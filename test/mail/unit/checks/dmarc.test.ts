import { describe, expect, test } from 'vitest';
import { checkDmarc } from '../../../../workers/mail/checks/authentication/dmarc.ts';
import type { ResolveDns } from '../../../../workers/mail/checks/dependencies.ts';
import type { DkimVerdict, SpfVerdict } from '../../../../workers/mail/checks/verdicts.ts';
import { readHeaders } from '../../../../workers/mail/mime/mime-tree.ts';
import { resolveFrom, type Zone } from '../../../support/mail/signed-mail.ts';

const NO_SPF: SpfVerdict = { domain: '', identity: 'mailfrom', result: 'none', reason: '' };
const passFor = (domain: string): SpfVerdict => ({ ...NO_SPF, domain, result: 'pass' });
const signedBy = (domain: string, result: DkimVerdict['result'] = 'pass'): DkimVerdict => ({
  ...{ result, domain, selector: 's', algorithm: 'rsa-sha256', aligned: false, reason: '' },
});

/** Evaluates DMARC. @param zone DMARC records by domain. A key with a space, such as `A shop.test`, is a record of another type. */
function toResolver(zone: Readonly<Record<string, string | readonly string[]>>): ResolveDns {
  const records: Record<string, readonly string[]> = {};
  for (const [key, value] of Object.entries(zone))
    records[key.includes(' ') ? key : `TXT _dmarc.${key}`] = typeof value === 'string' ? [value] : value;
  return resolveFrom(records as Zone);
}

async function check(
  zone: Readonly<Record<string, string | readonly string[]>>,
  from = 'a@shop.test',
  evidence: { spf?: SpfVerdict; dkim?: DkimVerdict[] } = {},
) {
  const { headers } = readHeaders(Buffer.from(`From: ${from}\r\n\r\n`));
  return checkDmarc(headers, evidence.spf ?? NO_SPF, evidence.dkim ?? [], toResolver(zone));
}
const judge = async (...rest: Parameters<typeof check>) => (await check(...rest)).dmarc;

describe('slips in a record keep its policy', () => {
  test.each([
    'v=DMARC1; p=reject;;',
    'v=DMARC1; p=reject; ; rua=mailto:a@shop.test',
    'v=DMARC1;; p=reject',
    'v=DMARC1; ; ;p=reject; ;',
    'v=DMARC1; p=reject; rua=mailto:a@shop.test; rua=mailto:b@shop.test',
    'v=DMARC1; p=reject; fo=1; fo=0',
    'v=DMARC1; p=reject; reject',
    'v=DMARC1; p=reject; x-1=a',
    'v=DMARC1; p=reject; =a',
    'v=DMARC1; p=reject; rua=',
    'v=DMARC1; p=reject; adkim; aspf=',
    'v=DMARC1; p=reject; p=none',
    'v=DMARC1; rua=mailto:a@shop.test; p=reject',
    'v=DMARC1; P=Reject',
    'V = DMARC1 ; p = reject',
    'v=DMARC1;p=reject;sp=reject;pct=0',
    'v=DMARC1; p=reject; pct=101; ri=x; rf=iodef',
    'v=DMARC1; p=reject; adkim=x; aspf=y; psd=maybe; t=perhaps',
    'v=DMARC1; p=reject; "quoted; text"',
    'v=DMARC1; p=reject; rua=mailto:ä@shop.test',
  ])('%s', async (record) => {
    expect(await judge({ 'shop.test': record })).toMatchObject({
      result: 'fail',
      policy: 'reject',
      disposition: 'reject',
    });
  });

  test.each([
    ['p=reject'],
    ['v=DMARC2; p=reject'],
    ['v=dmarc1; p=reject'],
    ['v=DMARC1 p=reject'],
    ['p=reject; v=DMARC1'],
    [' v=DMARC1; p=reject'],
    ['v=DMARC1; p=reject', 'v=DMARC1; p=reject'],
    ['v=DMARC10; p=reject'],
    ['v=spf1 -all'],
    [''],
  ])('%s is no DMARC policy', async (...records) => {
    expect(await judge({ 'shop.test': records })).toMatchObject({ result: 'none', policy: null, disposition: 'none' });
  });
});

describe('a record without a valid policy', () => {
  test.each([
    'v=DMARC1',
    'v=DMARC1;',
    'v=DMARC1; p=',
    'v=DMARC1; p=refuse',
    'v=DMARC1; p=reject rua=mailto:a@shop.test',
    'v=DMARC1; p',
    'v=DMARC1; sp=reject',
    'v=DMARC1; p=reject; sp=x',
    'v=DMARC1; p=reject; np=x',
    'v=DMARC1; rua=',
    'v=DMARC1; rua=a@shop.test',
  ])('asks for no processing, and the parent does not apply: %s', async (record) => {
    const zone = { 'news.shop.test': record, 'shop.test': 'v=DMARC1; p=reject' };
    expect(await judge(zone, 'a@news.shop.test')).toMatchObject({ result: 'none', policy: null, disposition: 'none' });
  });

  test.each([
    'v=DMARC1; rua=mailto:a@shop.test',
    'v=DMARC1; p=refuse; rua=mailto:a@shop.test',
    'v=DMARC1; p=reject; sp=x; rua=mailto:a@shop.test',
    'v=DMARC1; p=; rua=x, https://report.shop.test/in!10m',
  ])('counts as none if it asks for reports: %s', async (record) => {
    const zone = { 'news.shop.test': record, 'shop.test': 'v=DMARC1; p=reject' };
    expect(await judge(zone, 'a@news.shop.test')).toMatchObject({
      result: 'fail',
      policy: 'none',
      disposition: 'none',
    });
  });
});

describe('domains in raw UTF-8', () => {
  const zone = { 'xn--mnchen-3ya.test': 'v=DMARC1; p=reject', 'bank.test': 'v=DMARC1; p=reject' };
  test.each([
    'Ann <a@münchen.test>',
    'a@münchen.test',
    'a@MÜNCHEN.test',
    'a@mu\u0308nchen.test',
    'Ann <a@münchen.test.>',
    'Ann <ann.müller@münchen.test>',
    'a@xn--mnchen-3ya.test',
    '"Ann" <a@XN--MNCHEN-3YA.test>',
  ])('%s has the policy of its A-labels', async (from) => {
    expect(await judge(zone, from)).toMatchObject({
      ...{ result: 'fail', domain: 'xn--mnchen-3ya.test', disposition: 'reject' },
    });
  });

  test('pass with a signature of the same domain, in either form', async () => {
    for (const domain of ['xn--mnchen-3ya.test', 'mail.xn--mnchen-3ya.test'])
      expect(await judge(zone, 'a@münchen.test', { dkim: [signedBy(domain)] })).toMatchObject({ result: 'pass' });
  });

  test.each(['a@ｂank.test', 'a@bank。test', 'a@ba\u00adnk.test'])(
    'characters that IDNA maps to ASCII: %s',
    async (from) => {
      expect(await judge(zone, from)).toMatchObject({ domain: 'bank.test', disposition: 'reject' });
    },
  );

  test.each([
    ['a right-to-left override', Buffer.from('From: a@m\u202e\xfc.test\r\n\r\n')],
    ['an empty label', Buffer.from('From: a@mü..test\r\n\r\n')],
    ['a slash', Buffer.from('From: a@mü/nchen.test\r\n\r\n')],
    ['a port', Buffer.from('From: a@mü:25.test\r\n\r\n')],
    ['a percent sign', Buffer.from('From: a@mü%2e.test\r\n\r\n')],
    ['one label', Buffer.from('From: a@mü\r\n\r\n')],
  ])('an invalid name has no policy: %s', async (_, raw) => {
    const { headers } = readHeaders(raw);
    const { dmarc } = await checkDmarc(headers, passFor('evil.test'), [], toResolver(zone));
    expect(dmarc.result).toBe('permerror');
  });

  test('bytes that are not UTF-8 are read as Latin-1', async () => {
    const { headers } = readHeaders(Buffer.from('From: a@m\xfcnchen.test\r\n\r\n', 'latin1'));
    const { dmarc } = await checkDmarc(headers, NO_SPF, [], toResolver(zone));
    expect(dmarc).toMatchObject({ domain: 'xn--mnchen-3ya.test', disposition: 'reject' });
  });

  test('two authors, one of them in UTF-8, never pass', async () => {
    const dmarc = await judge(zone, 'x@evil.test, ceo@münchen.test', { spf: passFor('evil.test') });
    expect(dmarc).toMatchObject({ result: 'permerror', disposition: 'quarantine' });
  });
});

describe('RFC 9989: policies of subdomains', () => {
  const np = { 'shop.test': 'v=DMARC1; p=reject; sp=none; np=reject', 'A news.shop.test': ['192.0.2.1'] };
  test.each([
    [np, 'x@ghost.shop.test', 'reject'],
    [np, 'x@a.b.ghost.shop.test', 'reject'],
    [np, 'x@news.shop.test', 'none'],
    [{ ...np, 'MX post.shop.test': ['10 mx.shop.test'] }, 'x@post.shop.test', 'none'],
    [{ ...np, 'TXT only.shop.test': ['x'] }, 'x@only.shop.test', 'none'],
    [np, 'x@shop.test', 'reject'],
    [{ 'shop.test': 'v=DMARC1; p=none; np=reject' }, 'x@ghost.shop.test', 'reject'],
    [{ 'shop.test': 'v=DMARC1; p=reject; np=quarantine' }, 'x@ghost.shop.test', 'quarantine'],
    [{ 'shop.test': 'v=DMARC1; p=none; sp=quarantine' }, 'x@ghost.shop.test', 'quarantine'],
    [{ 'shop.test': 'v=DMARC1; p=reject' }, 'x@a.b.c.shop.test', 'reject'],
    [{ 'shop.test': 'v=DMARC1; p=reject', 'a.shop.test': 'v=DMARC1; p=none' }, 'x@b.a.shop.test', 'reject'],
    [{ 'shop.test': 'v=DMARC1; p=reject', 'a.shop.test': 'v=DMARC1; p=none' }, 'x@a.shop.test', 'none'],
    [{ gov: 'v=DMARC1; p=reject; np=reject; psd=y' }, 'x@nosuch.gov', 'reject'],
    [{ gov: 'v=DMARC1; p=reject; sp=none; np=reject; psd=y', 'A real.gov': ['192.0.2.1'] }, 'x@real.gov', 'none'],
    [{ gov: 'v=DMARC1; p=reject; psd=y', 'real.gov': 'v=DMARC1; p=none' }, 'x@mail.real.gov', 'none'],
  ])('%j, %s: %s', async (zone, from, policy) => {
    expect(await judge(zone, from)).toMatchObject({ policy, disposition: policy });
  });

  test.each([
    ['v=DMARC1; p=reject; t=y', 'quarantine'],
    ['v=DMARC1; p=quarantine; t=y', 'none'],
    ['v=DMARC1; p=reject; t=n', 'reject'],
    ['v=DMARC1; p=reject; t=Y; pct=100', 'quarantine'],
    ['v=DMARC1; p=none; t=y', 'none'],
  ])('test mode: %s: %s', async (record, disposition) => {
    expect(await judge({ 'shop.test': record })).toMatchObject({ disposition });
  });
});

describe('RFC 9989: Organizational Domains', () => {
  const bank = {
    'bank.example': 'v=DMARC1; p=reject; psd=y',
    'giant.bank.example': 'v=DMARC1; p=reject',
  };
  test.each([
    [{ 'mail.shop.com': 'v=DMARC1; p=reject; psd=n' }, 'x@a.mail.shop.com', 'b.mail.shop.com', 'pass'],
    [{ 'mail.shop.com': 'v=DMARC1; p=reject; psd=n' }, 'x@a.mail.shop.com', 'shop.com', 'fail'],
    [bank, 'x@giant.bank.example', 'mega.bank.example', 'fail'],
    [bank, 'x@giant.bank.example', 'mail.giant.bank.example', 'pass'],
    [bank, 'x@mega.bank.example', 'mail.mega.bank.example', 'pass'],
    [bank, 'x@bank.example', 'giant.bank.example', 'fail'],
    [bank, 'x@giant.bank.example', 'bank.example', 'fail'],
    [{ 'shop.test': 'v=DMARC1; p=reject' }, 'x@a.shop.test', 'b.c.shop.test', 'pass'],
    [{ 'shop.test': 'v=DMARC1; p=reject' }, 'x@shop.test', 'notshop.test', 'fail'],
    [{ 'shop.test': 'v=DMARC1; p=reject' }, 'x@shop.test', 'test', 'fail'],
    [{ 'a.shop.test': 'v=DMARC1; p=reject' }, 'x@a.shop.test', 'b.shop.test', 'fail'],
    [{ 'a.shop.test': 'v=DMARC1; p=reject', 'shop.test': ['x', 'y'] }, 'x@a.shop.test', 'shop.test', 'fail'],
    [{ 'shop.test': 'v=DMARC1; p=reject; aspf=s' }, 'x@shop.test', 'a.shop.test', 'fail'],
    [{ 'shop.test': 'v=DMARC1; p=reject; aspf=S' }, 'x@a.shop.test', 'a.shop.test', 'pass'],
    [{ 'gov.uk': 'v=DMARC1; p=reject', 'tax.gov.uk': 'v=DMARC1; p=reject' }, 'x@tax.gov.uk', 'dwp.gov.uk', 'fail'],
    [{ com: 'v=DMARC1; p=none' }, 'x@shop.com', 'evil.com', 'fail'],
  ])('%j: %s with SPF pass for %s: %s', async (zone, from, spfDomain, result) => {
    expect(await judge(zone, from, { spf: passFor(spfDomain) })).toMatchObject({ result });
  });

  test('aligns signatures in the same way', async () => {
    const dkim = [signedBy('mega.bank.example'), signedBy('mail.giant.bank.example', 'fail')];
    const outcome = await check(bank, 'x@giant.bank.example', { dkim });
    expect(outcome.dmarc.result).toBe('fail');
    expect(outcome.dkim.map((one) => one.aligned)).toEqual([false, true]);
  });

  test('asks at most eight names per walk, and each name once', async () => {
    const asked: string[] = [];
    const resolver = toResolver({ 'example.com': 'v=DMARC1; p=reject' });
    const { headers } = readHeaders(Buffer.from('From: x@a.b.c.d.e.f.g.h.i.j.mail.example.com\r\n\r\n'));
    const { dmarc } = await checkDmarc(headers, NO_SPF, [signedBy('k.example.com')], (name, type) => {
      asked.push(name);
      return resolver(name, type);
    });
    expect(dmarc).toMatchObject({ result: 'pass', policy: 'reject' });
    expect(asked.slice(0, 8)).toEqual([
      '_dmarc.a.b.c.d.e.f.g.h.i.j.mail.example.com',
      '_dmarc.g.h.i.j.mail.example.com',
      '_dmarc.h.i.j.mail.example.com',
      '_dmarc.i.j.mail.example.com',
      '_dmarc.j.mail.example.com',
      '_dmarc.mail.example.com',
      '_dmarc.example.com',
      '_dmarc.com',
    ]);
    expect(new Set(asked).size).toBe(asked.length);
  });

  test('a failed look-up that decides is temperror; one that does not is ignored', async () => {
    const broken =
      (...names: string[]): ResolveDns =>
      async (name, type) =>
        names.includes(name)
          ? { ok: false, error: { kind: 'unreachable', reason: 'down' } }
          : toResolver({ 'shop.test': 'v=DMARC1; p=reject' })(name, type);
    const { headers } = readHeaders(Buffer.from('From: x@a.shop.test\r\n\r\n'));
    const run = async (resolve: ResolveDns, spf = NO_SPF) => (await checkDmarc(headers, spf, [], resolve)).dmarc.result;
    expect(await run(broken('_dmarc.shop.test'))).toBe('temperror');
    expect(await run(broken('_dmarc.b.shop.test'))).toBe('fail');
    expect(await run(broken('_dmarc.b.shop.test'), passFor('b.shop.test'))).toBe('temperror');
    expect(await run(broken('_dmarc.b.shop.test'), passFor('a.shop.test'))).toBe('pass');
    expect(await run(broken('_dmarc.other.example'), passFor('other.example'))).toBe('fail');
  });
});
