import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { toCanonicalField } from '../../../../workers/mail/checks/authentication/canonical-form.ts';
import { authenticateMessage } from '../../../../workers/mail/checks/index.ts';
import { resolveFrom, type Zone } from '../../../support/mail/signed-mail.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const zone: Zone = {
  'TXT s._domainkey.shop.test': [
    `v=DKIM1; k=ed25519; p=${publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')}`,
  ],
  'TXT _dmarc.shop.test': ['v=DMARC1; p=reject'],
};
const HEADERS = [
  'From: ann@shop.test',
  'To: bob@example.test',
  'Subject: Lunch',
  'Date: Sat, 21 Nov 2026 09:00:00 +0000',
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 7bit',
];
const BODY = 'At noon.\r\n';

/** Signs a message over the header fields `signed` (relaxed/simple, RFC 8463), and adds the fields `added` on top afterwards. */
function toSigned(signed: readonly string[], added: readonly string[]): Buffer {
  const bodyHash = createHash('sha256').update(BODY).digest('base64');
  const names = signed.join(':');
  const unsigned = `DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/simple; d=shop.test; s=s; h=${names}; bh=${bodyHash}; b=`;
  const used = [...HEADERS];
  const fields = signed.flatMap((name) => {
    const at = used.findLastIndex((field) => field.toLowerCase().startsWith(`${name.toLowerCase()}:`));
    return at < 0 ? [] : used.splice(at, 1);
  });
  const data = [...fields, unsigned].map((field) => toCanonicalField(field, 'relaxed')).join('\r\n');
  const signature = sign(null, createHash('sha256').update(data).digest(), privateKey).toString('base64');
  return Buffer.from([...added, `${unsigned}${signature}`, ...HEADERS, '', BODY].join('\r\n'));
}

async function judge(signed: readonly string[], added: readonly string[]) {
  const { dkim, dmarc } = await authenticateMessage(
    {
      raw: toSigned(signed, added),
      envelope: { from: 'ann@shop.test' },
      clientIp: null,
      helo: null,
      direction: 'inbound',
    },
    { resolveDns: resolveFrom(zone), now: () => Date.UTC(2026, 10, 22) },
  );
  return { dkim: dkim[0]?.result, dmarc: dmarc.result };
}

const ALL = ['From', 'To', 'Subject', 'Date', 'MIME-Version', 'Content-Type', 'Content-Transfer-Encoding'];

describe('a second MIME-Version keeps the signature', () => {
  test.each([
    [ALL, ['MIME-Version: 1.0']],
    [ALL, ['Mime-Version: 1.0']],
    [ALL, ['MIME-Version: 1.0 (Apple Message framework v1)']],
    [ALL, ['MIME-VERSION:1.0']],
    [
      ['From', 'MIME-Version'],
      ['MIME-Version: 1.0', 'MIME-Version: 1.0'],
    ],
    [ALL, ['MIME-Version: 2.0']],
    [ALL, ['MIME-Version:']],
    [ALL, ['MIME-Version: 1.0\r\n\t(folded)']],
    [ALL, ['X-Other: x', 'mime-version: 1.0']],
    [['From'], ['MIME-Version: 1.0']],
    [ALL, []],
  ])('signed %j, added %j', async (signed, added) => {
    expect(await judge(signed, added)).toEqual({ dkim: 'pass', dmarc: 'pass' });
  });
});

describe('a second field that misleads a reader breaks it', () => {
  test.each([
    [ALL, ['Subject: Pay now']],
    [ALL, ['To: eve@example.test']],
    [ALL, ['Date: Sat, 21 Nov 2020 09:00:00 +0000']],
    [ALL, ['Content-Type: text/html']],
    [ALL, ['Content-Transfer-Encoding: base64']],
    [ALL, ['MIME-Version: 1.0', 'Subject: Pay now']],
    [ALL, ['SUBJECT :Pay now']],
    [ALL, ['Subject:']],
    [ALL, ['Content-Type:']],
    [[...ALL, 'MIME-Version'], ['MIME-Version: 1.0']],
  ])('signed %j, added %j', async (signed, added) => {
    expect((await judge(signed, added)).dkim).not.toBe('pass');
  });
});
