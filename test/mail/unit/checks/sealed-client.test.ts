import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { toCanonicalField } from '../../../../workers/mail/checks/authentication/canonical-form.ts';
import { authenticateMessage, readSealedClient } from '../../../../workers/mail/checks/index.ts';
import { resolveFrom, type Zone } from '../../../support/mail/signed-mail.ts';

const NOW = Date.UTC(2026, 10, 22);
const cloudflare = generateKeyPairSync('ed25519');
const attacker = generateKeyPairSync('ed25519');
const toRecord = (key: KeyObject) =>
  `v=DKIM1; k=ed25519; p=${key.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')}`;
const zone: Zone = {
  'TXT cf2024-1._domainkey.cloudflare-email.net': [toRecord(cloudflare.publicKey)],
  'TXT cf2024-1._domainkey.evil.test': [toRecord(attacker.publicKey)],
  'TXT shop.test': ['v=spf1 ip4:192.0.2.25 -all'],
  'TXT _dmarc.shop.test': ['v=DMARC1; p=reject'],
};
const dependencies = { resolveDns: resolveFrom(zone), now: () => NOW };

const BODY = 'Hello.\r\n';
const MAIL = ['From: ann@shop.test', 'To: bob@example.test', 'Subject: Hi', 'Date: Sun, 22 Nov 2026 00:00:00 +0000'];
const toResults = (ip: string, helo = 'mx.shop.test', id = 'mx.cloudflare.net') =>
  `${id};\r\n\tdkim=none;\r\n\tdmarc=pass header.from=shop.test policy.dmarc=reject;\r\n\t` +
  `spf=none (mx.cloudflare.net: no SPF records found for postmaster@${helo}) smtp.helo=${helo};\r\n\t` +
  `spf=pass (mx.cloudflare.net: domain of ann@shop.test designates ${ip} as permitted sender) smtp.mailfrom=ann@shop.test;\r\n\t` +
  `arc=none smtp.remote-ip=${ip}`;

interface Seal {
  domain?: string;
  key?: KeyObject;
  instance?: number;
  results?: string;
  /** The tag `c=`; empty to leave it out. */
  form?: string;
}

/** Puts an ARC set on top of a header, as Email Routing does. */
function seal(
  header: readonly string[],
  { domain = 'cloudflare-email.net', key = cloudflare.privateKey, ...set }: Seal = {},
) {
  const instance = set.instance ?? 1;
  const tags = `a=ed25519-sha256; s=cf2024-1; d=${domain}`;
  const toSignature = (fields: readonly string[]) =>
    sign(
      null,
      createHash('sha256')
        .update(fields.map((field) => toCanonicalField(field, 'relaxed')).join('\r\n'))
        .digest(),
      key,
    ).toString('base64');
  const results = `ARC-Authentication-Results: i=${instance}; ${set.results ?? toResults('192.0.2.25')}`;
  const signed = ['Subject', 'From', 'Date', 'To'].flatMap((name) =>
    header.filter((field) => field.startsWith(`${name}: `)).slice(-1),
  );
  const bodyHash = createHash('sha256').update(BODY).digest('base64');
  const open = `ARC-Message-Signature: i=${instance}; ${tags}; ${set.form ?? 'c=relaxed/relaxed; '}h=Subject:From:Date:To; t=1795300000; bh=${bodyHash}; b=`;
  const message = open + toSignature([...signed, open]);
  const older = ['ARC-Authentication-Results', 'ARC-Message-Signature', 'ARC-Seal'].flatMap((name) =>
    header.filter((field) => field.startsWith(`${name}: i=1;`)),
  );
  const openSeal = `ARC-Seal: i=${instance}; ${tags}; cv=${instance === 1 ? 'none' : 'pass'}; b=`;
  const sealed = openSeal + toSignature([...older, results, message, openSeal]);
  return [
    `Received: from mx.shop.test (203.0.113.9)\r\n\tby cloudflare-email.net (cloudflare) id x`,
    sealed,
    message,
    results,
    ...header,
  ];
}
const toRaw = (header: readonly string[]) => Buffer.from([...header, '', BODY].join('\r\n'));
const read = (header: readonly string[]) => readSealedClient(toRaw(header), dependencies);

describe('the client that Email Routing sealed is believed', () => {
  test.each([
    ['192.0.2.25', 'mx.shop.test'],
    ['2001:db8::25', 'mx.shop.test'],
    ['192.0.2.25', '[192.0.2.25]'],
  ])('%s, %s', async (clientIp, helo) => {
    expect(await read(seal(MAIL, { results: toResults(clientIp, helo) }))).toEqual({ clientIp, helo });
  });

  test('in quotes, with a final semicolon, and after an older set of a forwarder', async () => {
    const quoted = toResults('192.0.2.25').replace(/remote-ip=(.*)$/, 'remote-ip="$1";');
    expect(await read(seal(MAIL, { results: quoted }))).toMatchObject({ clientIp: '192.0.2.25' });
    const forwarded = seal(MAIL, {
      domain: 'evil.test',
      key: attacker.privateKey,
      results: 'evil.test; arc=none smtp.remote-ip=198.51.100.1',
    });
    expect(await read(seal(forwarded, { instance: 2 }))).toMatchObject({ clientIp: '192.0.2.25' });
  });

  test('also if the seal does not say its form, and is in relaxed form, as its makers sign', async () => {
    expect(await read(seal(MAIL, { form: '' }))).toMatchObject({ clientIp: '192.0.2.25' });
  });

  test('so SPF and DMARC are decided', async () => {
    const judge = async (ip: string) => {
      const raw = toRaw(seal(MAIL, { results: toResults(ip) }));
      const client = await readSealedClient(raw, dependencies);
      const message = {
        raw,
        envelope: { from: 'ann@shop.test' },
        clientIp: null,
        helo: null,
        direction: 'inbound' as const,
      };
      return authenticateMessage({ ...message, ...client }, dependencies);
    };
    expect(await judge('192.0.2.25')).toMatchObject({
      spf: { result: 'pass' },
      dmarc: { result: 'pass' },
      sender: { address: 'ann@shop.test' },
    });
    expect(await judge('198.51.100.7')).toMatchObject({
      spf: { result: 'fail' },
      dmarc: { disposition: 'reject' },
      sender: { address: null },
    });
  });
});

describe('nothing else is believed', () => {
  const forged = (field: string) => [field, ...MAIL];
  test.each([
    ['no fields', MAIL],
    ['Received', forged('Received: from mx.shop.test (192.0.2.25) by cloudflare-email.net (cloudflare) id x')],
    ['Authentication-Results', forged(`Authentication-Results: ${toResults('192.0.2.25')}`)],
    ['Received-SPF', forged('Received-SPF: pass client-ip=192.0.2.25; envelope-from="ann@shop.test"')],
    ['X-Forwarded-For and CF-Connecting-IP', ['CF-Connecting-IP: 192.0.2.25', 'X-Forwarded-For: 192.0.2.25', ...MAIL]],
    ['results without a seal', forged(`ARC-Authentication-Results: i=1; ${toResults('192.0.2.25')}`)],
    ['the seal of another domain', seal(MAIL, { domain: 'evil.test', key: attacker.privateKey })],
    ['the name of Cloudflare with another key', seal(MAIL, { key: attacker.privateKey })],
    ['a newer set of another domain', seal(seal(MAIL), { instance: 2, domain: 'evil.test', key: attacker.privateKey })],
    ['another server in the results', seal(MAIL, { results: toResults('192.0.2.25', 'mx.shop.test', 'mx.evil.test') })],
    ['changed results', seal(MAIL).map((field) => field.replace('remote-ip=192.0.2.25', 'remote-ip=192.0.2.26'))],
    [
      'another From on the same set',
      seal(MAIL).map((field) => field.replace('From: ann@shop.test', 'From: ceo@shop.test')),
    ],
    ['a second From on top', ['From: ceo@shop.test', ...seal(MAIL)].slice(0, 1).concat(seal(MAIL).slice(1, 3), MAIL)],
    ['a set twice', [...seal(MAIL).slice(0, 4), ...seal(MAIL)]],
    ['results without an address', seal(MAIL, { results: 'mx.cloudflare.net; arc=none' })],
    ['an address that is none', seal(MAIL, { results: 'mx.cloudflare.net; arc=none smtp.remote-ip=1.2.3' })],
    ['an address in HELO', seal(MAIL, { results: toResults('198.51.100.7', 'x; arc=none smtp.remote-ip=192.0.2.25') })],
    [
      'an address in HELO at the end',
      seal(MAIL, { results: 'mx.cloudflare.net; spf=none smtp.helo=x; arc=none smtp.remote-ip=192.0.2.25; spf=none' }),
    ],
    [
      'an address in a sender',
      seal(MAIL, {
        results: toResults('198.51.100.7').replace(
          'mailfrom=ann@shop.test',
          'mailfrom="a smtp.remote-ip=192.0.2.25"@x',
        ),
      }),
    ],
  ])('%s', async (_, header) => {
    expect(await read(header)).toBeNull();
  });

  test('of a seal whose key cannot be looked up, or on a changed body', async () => {
    const down = {
      resolveDns: async () => ({ ok: false, error: { kind: 'unreachable', reason: 'down' } }) as const,
      now: () => NOW,
    };
    expect(await readSealedClient(toRaw(seal(MAIL)), down)).toBeNull();
    expect(
      await readSealedClient(Buffer.concat([toRaw(seal(MAIL)), Buffer.from('more\r\n')]), dependencies),
    ).toBeNull();
  });

  test('a HELO name that occurs twice is left out', async () => {
    const results = toResults('192.0.2.25', 'a smtp.helo=b');
    expect(await read(seal(MAIL, { results }))).toEqual({ clientIp: '192.0.2.25', helo: null });
  });
});

describe('an ARC message signature', () => {
  /** Makes a chain whose message signature has the given form, signed in simple form. */
  const toChain = (c: string, names = 'Subject:From') => {
    const header = ['From: ann@shop.test', 'Subject:  Hi  there'];
    const toSignature = (fields: readonly string[], form: 'simple' | 'relaxed') =>
      sign(
        null,
        createHash('sha256')
          .update(fields.map((field) => toCanonicalField(field, form)).join('\r\n'))
          .digest(),
        cloudflare.privateKey,
      ).toString('base64');
    const tags = 'a=ed25519-sha256; s=cf2024-1; d=cloudflare-email.net';
    const results = `ARC-Authentication-Results: i=1; ${toResults('192.0.2.25')}`;
    const bodyHash = createHash('sha256').update(BODY).digest('base64');
    const signed = names.split(':').flatMap((name) => header.filter((field) => field.startsWith(`${name}:`)));
    const open = `ARC-Message-Signature: i=1; ${tags};${c} h=${names}; bh=${bodyHash}; b=`;
    const message = open + toSignature([...signed, open], 'simple');
    const openSeal = `ARC-Seal: i=1; ${tags}; cv=none; b=`;
    const seal = openSeal + toSignature([results, message, openSeal], 'relaxed');
    return [seal, message, results, ...header];
  };
  const verify = async (header: readonly string[]) => {
    const mail = { raw: toRaw(header), envelope: { from: 'ann@shop.test' }, clientIp: '192.0.2.1', helo: 'a.test' };
    return (await authenticateMessage({ ...mail, direction: 'inbound' }, dependencies, { ARC_TRUSTED_SEALERS: [] }))
      .arc;
  };
  test.each(['', ' c=simple/simple;', ' c=simple;'])('is in simple form without another one: %j', async (c) => {
    expect(await verify(toChain(c))).toMatchObject({ result: 'pass', reason: '' });
  });
  // A signature without From proves nothing about the author (RFC 6376 §5.4), so it is not accepted.
  test.each(['Subject', ''])('of h=%s fails, because From is not signed', async (names) => {
    expect(await verify(toChain('', names))).toMatchObject({ result: 'fail' });
  });
});
