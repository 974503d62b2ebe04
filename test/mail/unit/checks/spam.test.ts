import { describe, expect, test } from 'vitest';
import { unauthenticated } from '../../../../dev/spam/corpus.ts';
import {
  checkSpam,
  JUNK_SCORE,
  personaliseSpam,
  readTokens,
  trainUserModel,
} from '../../../../workers/mail/checks/spam/index.ts';
import { offlineDependencies } from './messages.ts';
import { PROMOTIONAL_MAIL } from './promotional-mail.ts';
import { toLetter, WANTED_MAIL } from './wanted-mail.ts';

const toInbound = (raw: Uint8Array) => ({ raw, envelope: { from: '', to: [] }, clientIp: null, helo: null });

async function check(raw: Uint8Array) {
  const checked = await checkSpam(toInbound(raw), unauthenticated, {}, offlineDependencies);
  if (!checked.ok) throw new Error(checked.error.reason);
  return checked.value;
}

describe('wanted mail unlike the training data stays out of Junk', () => {
  for (const [name, letter] of Object.entries(WANTED_MAIL)) {
    test(name, async () => {
      const { spam } = await check(toLetter(letter));
      expect(spam.verdict, JSON.stringify(spam.reasons)).toBe('ham');
      expect(spam.score).toBeLessThan(JUNK_SCORE);
    });
  }
});

describe('promotions, receipts and codes stay out of Junk with DMARC pass, none or temperror', () => {
  for (const [name, letter] of Object.entries(PROMOTIONAL_MAIL)) {
    test.each(['pass', 'none', 'temperror'] as const)(`${name}, DMARC %s`, async (result) => {
      const site = /@([^>]+)/.exec(letter.from)?.[1] ?? '';
      const dmarc = { ...unauthenticated.dmarc, result, domain: site };
      const checked = await checkSpam(
        toInbound(toLetter(letter)),
        { ...unauthenticated, dmarc },
        {},
        offlineDependencies,
      );
      if (!checked.ok) throw new Error(checked.error.reason);
      expect(checked.value.spam.verdict, JSON.stringify(checked.value.spam.reasons)).toBe('ham');
    });
  }

  test('one-click unsubscription does not count if authentication failed', async () => {
    const letter = PROMOTIONAL_MAIL['a charity'];
    if (!letter) throw new Error('the sample letter is missing');
    const spf = { ...unauthenticated.spf, result: 'fail' as const };
    const checked = await checkSpam(toInbound(toLetter(letter)), { ...unauthenticated, spf }, {}, offlineDependencies);
    expect(checked.ok && checked.value.spam.reasons.map(({ rule }) => rule)).not.toContain('ONE_CLICK_UNSUBSCRIBE');
  });
});

test('many pages of the sender’s own site outweigh a form and a hidden address of a link', async () => {
  const letter = (site: string) =>
    Buffer.from(
      [
        'From: Camera News <news@camera.test>',
        'To: ann@example.test',
        'Subject: Looking for the perfect camera for your summer vacation?',
        'Date: Sat, 21 Nov 2026 09:00:00 +0000',
        'Message-ID: <1@sender.test>',
        'Content-Type: text/html; charset=utf-8',
        '',
        `<form action="https://${site}/vote"><input name="vote"></form>`,
        ...Array.from({ length: 9 }, (_, n) => `<a href="https://${site}/review/${n}">Review ${n}</a>`),
        '<p>Click here to order now, risk free! Free money offers, guaranteed lowest prices, act now and save.</p>',
      ].join('\r\n'),
    );
  const scoreOf = async (site: string) => (await check(letter(site))).spam.score;
  expect((await scoreOf('away.test')) - (await scoreOf('www.camera.test'))).toBeGreaterThanOrEqual(2);
});

describe('a short message without Date and Message-ID stays out of Junk', () => {
  test.each([
    ['Test', 'This is a test mailing'],
    ['hi', 'hi'],
    ['', ''],
    ['Your package', 'Your package arrives tomorrow.'],
    ['Welcome!', 'Thanks for signing up. Confirm your address: https://app.example/confirm?t=1'],
    ['Alert: disk 90% full', 'host db3 /var 91%'],
    ['URGENT', 'server down!!'],
    ['你好', '明天见'],
  ])('%s', async (subject, text) => {
    const raw = Buffer.from(`From: a@outside.example\r\nTo: b@example.test\r\nSubject: ${subject}\r\n\r\n${text}\r\n`);
    const { spam } = await check(raw);
    expect(spam.verdict, JSON.stringify(spam.reasons)).toBe('ham');
  });
});

const spamLetter = (subject: string, text: string) =>
  toLetter({ from: 'Winner Desk <desk7731k@hotmail.com>', subject, text });
const ADVANCE_FEE = `Dear friend,

I am the son of the late General Bako. Before he died he deposited the sum of 25 million dollars with a security company. I ask for your
assistance to transfer this money to your account, and offer you 20% of it. This business is 100% risk free and must be kept confidential.
Reply with your bank account and telephone number.`;

describe('spam', () => {
  test('is recognised, and the reasons add up to the score', async () => {
    const { spam } = await check(spamLetter('URGENT BUSINESS ASSISTANCE', ADVANCE_FEE));
    expect(spam.verdict).toBe('junk');
    expect(spam.reasons.map((reason) => reason.rule)).toContain('MILLIONS_WAITING');
    expect(spam.reasons.reduce((sum, reason) => sum + reason.score, 0)).toBeCloseTo(spam.score, 1);
    for (const reason of spam.reasons) expect(reason.text).toMatch(/^[A-Z\w]/);
  });

  test('with GTUBE is refused wherever the string is, also in base64 and HTML', async () => {
    const gtube = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
    const encoded = Buffer.from(`hello\n${gtube}\n`).toString('base64');
    const messages = [
      toLetter({ from: 'a@home.example', subject: 'x', text: gtube }),
      toLetter({ from: 'a@home.example', subject: 'x', html: `<p>${gtube}</p>` }),
      Buffer.from(`From: a@home.example\r\nContent-Transfer-Encoding: base64\r\n\r\n${encoded}\r\n`),
    ];
    for (const raw of messages) expect((await check(raw)).spam.verdict).toBe('reject');
  });

  test('is reported for a link that shows one site and opens another', async () => {
    const { spam } = await check(
      toLetter({
        from: 'a@home.example',
        subject: 'x',
        html: '<a href="http://203.0.113.7/login">www.bank.example</a>',
      }),
    );
    const rules = spam.reasons.map((reason) => reason.rule);
    expect(rules).toContain('LINK_TO_NUMBER');
  });

  test('with words split by comments is read as displayed', () => {
    const splitTokens = readTokens(
      toLetter({ from: 'a@b.example', subject: 'x', html: 'buy cheap Ter<!-- x -->rapins now' }),
    );
    const whole = readTokens(toLetter({ from: 'a@b.example', subject: 'x', html: 'buy cheap Terrapins now' }));
    expect([...splitTokens]).toEqual([...whole]);
  });

  test('with a failed DMARC policy of reject weighs as much as all other reasons', async () => {
    const authentication = {
      ...unauthenticated,
      dmarc: { result: 'fail', domain: 'bank.example', policy: 'reject', disposition: 'reject', reason: '' } as const,
    };
    const raw = toLetter({
      from: 'Bank <help@bank.example>',
      subject: 'Hello',
      text: 'Hello Maria, see you tomorrow.',
    });
    const checked = await checkSpam(toInbound(raw), authentication, {}, offlineDependencies);
    expect(checked).toMatchObject({ ok: true, value: { spam: { verdict: 'junk' } } });
  });
});

describe('a user’s own training', () => {
  const club = (n: number) =>
    toLetter({
      from: 'Chess Club <news@chessclub.example>',
      subject: `Chess Club bulletin ${n}`,
      text: `Round ${n} of the winter tournament is on Tuesday in the old library. Pairings, results and the replay of board one are posted beside the entrance. Analysis of the Caro-Kann endgame follows after the break, tea is served.`,
    });

  test('sends mail similar to a marked message to Junk and no other, and is reverted by unmarking', async () => {
    const { spam, tokens } = await check(club(1));
    expect(spam.verdict).toBe('ham');
    const junked = trainUserModel(null, tokens, 'junk');
    const next = await check(club(2));
    const personal = personaliseSpam(next.spam, next.tokens, junked);
    expect(personal.verdict).toBe('junk');
    expect(personal.reasons.at(-1)).toMatchObject({ rule: 'YOUR_TRAINING' });
    for (const [name, letter] of Object.entries(WANTED_MAIL)) {
      const other = await check(toLetter(letter));
      const seen = personaliseSpam(other.spam, other.tokens, junked);
      expect(seen.score - other.spam.score, name).toBeLessThan(0.8);
    }
    const restored = trainUserModel(junked, tokens, 'ham');
    expect(personaliseSpam(next.spam, next.tokens, restored).verdict).toBe('ham');
  });

  test('keeps out of Junk mail that the built-in model calls spam', async () => {
    const { spam, tokens } = await check(spamLetter('URGENT BUSINESS ASSISTANCE', ADVANCE_FEE));
    const model = trainUserModel(null, tokens, 'ham');
    const again = personaliseSpam(spam, tokens, model);
    expect(spam.verdict).toBe('junk');
    expect(again.verdict, JSON.stringify(again)).toBe('ham');
  });

  test('does not let other spam through after a dozen rescued newsletters that share some of its words', async () => {
    let model: Uint8Array | null = null;
    for (let n = 0; n < 12; n += 1) {
      const own = Array.from({ length: 120 }, (_, at) => `word${n}${String.fromCharCode(97 + (at % 26))}${at}`).join(
        ' ',
      );
      const letter = toLetter({
        from: `News <news@paper${n}.example>`,
        subject: `Issue ${n} of our funds letter`,
        text: `${own}. We ask for your assistance with the account of the security company, 25 million dollars.`,
      });
      // Train each message as Junk first, so that the later training has to reverse it.
      model = trainUserModel(trainUserModel(model, readTokens(letter), 'junk'), readTokens(letter), 'ham');
      model = trainUserModel(model, readTokens(letter), 'ham');
    }
    const { spam, tokens } = await check(spamLetter('URGENT BUSINESS ASSISTANCE', ADVANCE_FEE));
    const after = personaliseSpam(spam, tokens, model);
    expect(after.verdict).toBe('junk');
    expect(spam.score - after.score).toBeLessThan(0.5);
  });

  test('stays within its size limit, and is ignored if the stored model is invalid', async () => {
    let model: Uint8Array | null = null;
    for (let n = 0; n < 60; n += 1) {
      const words = Array.from({ length: 600 }, (_, at) => `w${n}x${at}`).join(' ');
      model = trainUserModel(model, readTokens(toLetter({ from: 'a@b.example', subject: 's', text: words })), 'junk');
    }
    expect(model?.length).toBeLessThanOrEqual(1 + 20_000 * 6);
    const { spam, tokens } = await check(club(1));
    expect(personaliseSpam(spam, tokens, Buffer.from('not a model'))).toEqual(spam);
  });
});
