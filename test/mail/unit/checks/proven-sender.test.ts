import { describe, expect, test } from 'vitest';
import { unauthenticated } from '../../../../dev/spam/corpus.ts';
import { findProvenSender } from '../../../../workers/mail/checks/authentication/proven-sender.ts';
import { spareNewsletter } from '../../../../workers/mail/checks/index.ts';
import type { Authentication, SpamVerdict } from '../../../../workers/mail/checks/verdicts.ts';
import { readHeaders } from '../../../../workers/mail/mime/mime-tree.ts';

const dkim = (domain: string, result: 'pass' | 'fail' = 'pass', aligned = true) => ({
  ...{ result, domain, selector: 's', algorithm: 'rsa-sha256', aligned, reason: '' },
});
const dmarc = (result: Authentication['dmarc']['result'], domain = 'shop.test') => ({
  ...unauthenticated.dmarc,
  result,
  domain,
});
const spf = (
  domain: string,
  result: Authentication['spf']['result'] = 'pass',
  identity: 'mailfrom' | 'helo' = 'mailfrom',
) => ({
  ...{ result, domain, identity, reason: '' },
});
const find = (header: string, evidence: Partial<Authentication>) =>
  findProvenSender(readHeaders(Buffer.from(`${header}\r\n\r\n`)).headers, { ...unauthenticated, ...evidence });
const ANN = 'From: Ann <Ann@Shop.test>';

describe('From is proven', () => {
  test.each([
    ['DMARC pass', ANN, { dmarc: dmarc('pass') }],
    ['aligned SPF without a policy', ANN, { dmarc: dmarc('none'), spf: spf('bounce.shop.test') }],
    ['an aligned signature without a policy', ANN, { dmarc: dmarc('none'), dkim: [dkim('shop.test')] }],
    ['a trusted chain', ANN, { dmarc: dmarc('fail'), arc: { ...unauthenticated.arc, isTrusted: true } }],
  ] as [string, string, Partial<Authentication>][])('%s', (_, header, evidence) => {
    expect(find(header, evidence).address).toBe('ann@shop.test');
  });

  test('for a domain in raw UTF-8', () => {
    const { address } = find('From: Ann <ann@münchen.test>', { dmarc: dmarc('pass', 'xn--mnchen-3ya.test') });
    expect(address).toBe('ann@xn--mnchen-3ya.test');
  });
});

describe('From is not proven', () => {
  test.each([
    ['DMARC fail', ANN, { dmarc: dmarc('fail'), spf: spf('evil.test') }],
    ['DMARC temperror', ANN, { dmarc: dmarc('temperror'), dkim: [dkim('shop.test')] }],
    ['DMARC permerror', ANN, { dmarc: dmarc('permerror', '') }],
    ['nothing', ANN, { dmarc: dmarc('none') }],
    ['SPF of another site', ANN, { dmarc: dmarc('none'), spf: spf('evil.test') }],
    ['SPF softfail', ANN, { dmarc: dmarc('none'), spf: spf('shop.test', 'softfail') }],
    ['SPF of HELO', ANN, { dmarc: dmarc('none'), spf: spf('shop.test', 'pass', 'helo') }],
    ['a broken signature', ANN, { dmarc: dmarc('none'), dkim: [dkim('shop.test', 'fail')] }],
    ['a signature of another site', ANN, { dmarc: dmarc('none'), dkim: [dkim('evil.test', 'pass', false)] }],
    ['two authors', 'From: ann@shop.test, bob@shop.test', { dmarc: dmarc('pass') }],
    ['two From fields', 'From: ann@shop.test\r\nFrom: bob@shop.test', { dmarc: dmarc('pass') }],
    ['another domain than DMARC checked', 'From: ann@evil.test', { dmarc: dmarc('pass') }],
    ['no local part', 'From: @shop.test', { dmarc: dmarc('pass') }],
    ['no From', 'Subject: x', { dmarc: dmarc('pass') }],
  ] as [string, string, Partial<Authentication>][])('%s', (_, header, evidence) => {
    expect(find(header, evidence).address).toBeNull();
  });
});

describe('a list', () => {
  test.each([
    ['List-Id: Dev <dev.lists.test>', { dkim: [dkim('lists.test', 'pass', false)] }, 'dev.lists.test'],
    ['List-Id: <Dev.Lists.Test>', { dkim: [dkim('mail.lists.test', 'pass', false)] }, 'dev.lists.test'],
    ['List-Id: "a <b.c>" <dev.lists.test>', { dkim: [dkim('lists.test', 'pass', false)] }, 'dev.lists.test'],
    ['List-Id: <news.shop.test>', { dmarc: dmarc('pass') }, 'news.shop.test'],
    ['List-Id: <dev.lists.test>', { dmarc: dmarc('pass') }, null],
    ['List-Id: <dev.lists.test>', { dkim: [dkim('evil.test')] }, null],
    ['List-Id: <dev.lists.test>', { dkim: [dkim('lists.test', 'fail')] }, null],
    ['List-Id: <dev.lists.test>', { spf: spf('lists.test') }, null],
    ['List-Id: <dev.lists.test>\r\nList-Id: <x.lists.test>', { dkim: [dkim('lists.test')] }, null],
    ['List-Id: dev.lists.test', { dkim: [dkim('lists.test')] }, null],
    ['List-Id: <test>', { dkim: [dkim('test')] }, null],
    ['List-Id: <dev.test>', { dkim: [dkim('dev.test')] }, null],
    ['List-Id: <>', { dkim: [dkim('lists.test')] }, null],
    ['X: x', { dkim: [dkim('lists.test')] }, null],
  ] as [string, Partial<Authentication>, string | null][])('%s, %j: %s', (header, evidence, list) => {
    expect(find(`${ANN}\r\n${header}`, evidence).list).toBe(list);
  });
});

describe('newsletters in the grey zone', () => {
  const grey: SpamVerdict = { score: 4, verdict: 'junk', reasons: [], engine: 'built-in' };
  const proven: Authentication = {
    ...unauthenticated,
    dmarc: dmarc('pass'),
    sender: { address: 'ann@shop.test', list: null },
  };
  const toRaw = (headers: string, body = 'Hello.') => Buffer.from(`From: ann@shop.test\r\n${headers}\r\n${body}\r\n`);
  const LIST = 'List-Unsubscribe: <https://shop.test/u>\r\n';

  test.each([
    ['List-Unsubscribe', toRaw(LIST)],
    ['List-Id', toRaw('List-Id: <news.shop.test>\r\n')],
    ['Precedence: bulk', toRaw('Precedence: bulk\r\n')],
    ['a link to leave', toRaw('', 'See https://shop.test/newsletter/unsubscribe?x=1')],
    ['a text to leave', toRaw('', 'To unsubscribe, write to us.')],
    ['German', toRaw('', 'Hier können Sie den Newsletter abbestellen.')],
  ])('are spared: %s', (_, raw) => {
    const spared = spareNewsletter(grey, proven, raw);
    expect(spared).toMatchObject({ verdict: 'ham', score: 4 });
    expect(spared?.reasons.at(-1)).toMatchObject({ rule: 'NEWSLETTER', score: 0 });
  });

  test.each([
    ['unauthenticated', grey, unauthenticated],
    ['SPF alone', grey, { ...proven, dmarc: dmarc('none') }],
    ['DMARC fail', grey, { ...proven, dmarc: dmarc('fail') }],
    ['an author that is not proven', grey, { ...proven, sender: { address: null, list: null } }],
    ['a score of 6', { ...grey, score: 6 }, proven],
    ['a reject verdict', { ...grey, verdict: 'reject' }, proven],
    ['ham', { ...grey, verdict: 'ham', score: 1 }, proven],
    ['rspamd', { ...grey, engine: 'rspamd' }, proven],
    ['what the user called junk', { ...grey, reasons: [{ rule: 'YOUR_TRAINING', score: 3, text: '' }] }, proven],
  ] as [string, SpamVerdict, Authentication][])('are not spared: %s', (_, spam, authentication) => {
    expect(spareNewsletter(spam, authentication, toRaw(LIST))).toBeNull();
  });

  test('a letter is not a newsletter', () => {
    expect(spareNewsletter(grey, proven, toRaw('', 'Hello Ann, see you at noon.'))).toBeNull();
  });
});
