import { expect, test } from 'vitest';
import { checkMessage } from '../../../../workers/mail/checks/index.ts';
import { EICAR } from '../../../../workers/mail/mime/virus-signatures.ts';
import { offlineDependencies, toMessage } from './messages.ts';

test('an ordinary message is ham and clean, with a verdict in every member', async () => {
  const checked = await checkMessage(toMessage({ body: 'See you at noon.' }), {}, offlineDependencies);
  expect(checked).toMatchObject({ ok: true, value: { spam: { verdict: 'ham' }, virus: { verdict: 'clean' } } });
});

test('GTUBE is spam, and the reason names the rule', async () => {
  const body = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
  const checked = await checkMessage(toMessage({ body }), {}, offlineDependencies);
  expect(checked).toMatchObject({ ok: true, value: { spam: { verdict: 'reject' } } });
  expect(checked.ok && checked.value.spam.reasons.map((reason) => reason.rule)).toContain('GTUBE');
});

test('EICAR in the body is a virus, and the reason names the rule', async () => {
  const checked = await checkMessage(toMessage({ body: EICAR }), {}, offlineDependencies);
  expect(checked).toMatchObject({ ok: true, value: { virus: { verdict: 'infected', reasons: [{ rule: 'EICAR' }] } } });
});
