/** Tests the verification of mail that independent signers signed: dkimpy (DKIM with RSA and Ed25519, ARC) and OpenDKIM. */
import { describe, expect, test } from 'vitest';
import { type Authentication, authenticateMessage } from '../../../workers/mail/checks/index.ts';
import { parseSettings } from '../../../workers/shared/settings/settings.ts';
import {
  makeKey,
  resolveFrom,
  type SigningJob,
  type SigningKey,
  type SigningStep,
  signByDkimpy,
  signByOpendkim,
  toZone,
  type Zone,
} from '../../support/mail/signed-mail.ts';
import { hasClient, hasPythonModules } from '../../support/real-client.ts';

const hasDkimpy = hasPythonModules('authres', 'dkim', 'nacl');
const hasOpendkim = hasClient('opendkim');

const NOW = Date.now();
const MESSAGE = [
  'From: "Ada, Countess" <ada@mail.example.org>',
  'To: bob@example.test',
  'Subject: Figures   with\t spaces',
  ' and a fold',
  'Date: Sat, 21 Nov 2026 09:00:00 +0000',
  'Message-ID: <1@mail.example.org>',
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Dear  Bob,\t ',
  '',
  '\tthe engine weaves \u00e9 patterns.   ',
  '.',
  '',
  '',
  '',
].join('\r\n');

function authenticate(
  raw: Uint8Array,
  zone: Zone,
  more: { clientIp?: string; from?: string; trusted?: string } = {},
): Promise<Authentication> {
  const message = {
    raw,
    envelope: { from: more.from ?? 'ada@mail.example.org' },
    clientIp: more.clientIp ?? null,
    helo: 'mail.example.org',
    direction: 'inbound' as const,
  };
  const settings = more.trusted === undefined ? {} : parseSettings({ ARC_TRUSTED_SEALERS: more.trusted }).settings;
  return authenticateMessage(message, { resolveDns: resolveFrom(zone), now: () => NOW }, settings);
}
const results = (authentication: Authentication) => authentication.dkim.map((signature) => signature.result);
const replace = (raw: Uint8Array, from: string, to: string) =>
  Buffer.from(Buffer.from(raw).toString('latin1').replace(from, to), 'latin1');

const rsa = makeKey('example.org', 'rsa', 'rsa');
const short = makeKey('example.org', 'short', 'rsa', 1024);
const tiny = makeKey('example.org', 'tiny', 'rsa', 512);
const ed = makeKey('mail.example.org', 'ed', 'ed25519');
const gone = makeKey('other.example', 'gone', 'rsa');
const list = makeKey('list.example', 'arc', 'rsa');
const relay = makeKey('relay.example', 'arc', 'rsa');
const zone = toZone(rsa, short, tiny, ed, list, relay);

const HEADER = MESSAGE.slice(0, MESSAGE.indexOf('\r\n\r\n'));
const BODIES: Readonly<Record<string, string>> = {
  'an ordinary body': MESSAGE,
  'an empty body': `${HEADER}\r\n\r\n`,
  'a body without a final line end': `${MESSAGE}the end`,
  'a body of blank lines': `${HEADER}\r\n\r\n\r\n \r\n\t\r\n\r\n`,
  'a body of 300 KB': `${MESSAGE}${'a line with  some   space \t here \r\n'.repeat(9_000)}`,
};
const MATRIX = [rsa, short, ed].flatMap((key) =>
  ['relaxed/relaxed', 'simple/simple', 'relaxed/simple', 'simple/relaxed'].flatMap((canonicalize) =>
    Object.entries(BODIES).map(([name, message]) => ({
      name: `${key.selector} ${canonicalize}: ${name}`,
      key,
      canonicalize,
      message,
    })),
  ),
);
const dkim = (key: SigningKey, more: Partial<SigningStep> = {}): SigningStep => ({ do: 'dkim', key, ...more });
const arc = (key: SigningKey, results: string): SigningStep => ({ do: 'arc', key, results });
const listHop = arc(list, 'list.example; arc=none; dkim=pass header.d=example.org');
const passHop = arc(
  list,
  'list.example; dmarc=pass (p=reject) header.from=mail.example.org; dkim=pass header.d=example.org',
);
const failHop = arc(list, 'list.example; dmarc=fail header.from=mail.example.org; x=dmarc=pass');
const relayHop = arc(relay, 'relay.example; arc=pass; dkim=pass header.d=example.org');

const signAll = () =>
  signByDkimpy({
    ...Object.fromEntries(
      MATRIX.map(({ name, key, canonicalize, message }) => [name, { message, steps: [dkim(key, { canonicalize })] }]),
    ),
    relaxed: { message: MESSAGE, steps: [dkim(rsa)] },
    simple: { message: MESSAGE, steps: [dkim(rsa, { canonicalize: 'simple/simple' })] },
    several: { message: MESSAGE, steps: [dkim(rsa), dkim(ed), dkim(gone)] },
    limited: { message: MESSAGE, steps: [dkim(rsa, { length: true })] },
    tiny: { message: MESSAGE, steps: [dkim(tiny)] },
    oneHop: { message: MESSAGE, steps: [dkim(rsa), listHop] },
    brokenByList: { message: MESSAGE, steps: [passHop, relayHop] },
    failedBefore: { message: MESSAGE, steps: [failHop] },
    twoHops: { message: MESSAGE, steps: [dkim(rsa), listHop, relayHop] },
  } as Record<string, SigningJob>);

describe.skipIf(!hasDkimpy)('verification of dkimpy signatures', () => {
  const all = hasDkimpy ? signAll() : {};
  const signed = (name: string) => all[name] ?? Buffer.alloc(0);

  test.each(MATRIX)('$name: passes, and fails if a byte changes', async ({ name, key }) => {
    const verdicts = await authenticate(signed(name), zone);
    expect(verdicts).toMatchObject({ dkim: [{ result: 'pass', aligned: true, algorithm: key.algorithm, reason: '' }] });
    expect(results(await authenticate(replace(signed(name), 'Figures', 'Fingers'), zone))).toEqual(['fail']);
    const changed = await authenticate(Buffer.concat([signed(name), Buffer.from('P.S.\r\n')]), zone);
    expect(changed.dkim).toMatchObject([{ result: 'fail', reason: 'the body was changed after signing' }]);
  });

  test('relaxed ignores changed white space, simple does not', async () => {
    const spaced = (raw: Uint8Array) =>
      replace(replace(raw, 'Dear  Bob', 'Dear Bob'), 'Subject: Figures   with', 'subject:Figures with');
    expect(results(await authenticate(spaced(signed('relaxed')), zone))).toEqual(['pass']);
    expect(results(await authenticate(spaced(signed('simple')), zone))).toEqual(['fail']);
  });

  test('several signatures each get a verdict, newest first', async () => {
    const verdicts = (await authenticate(signed('several'), zone)).dkim;
    expect(verdicts.map(({ domain, result, aligned }) => [domain, result, aligned])).toEqual([
      ['other.example', 'permerror', false],
      ['mail.example.org', 'pass', true],
      ['example.org', 'pass', true],
    ]);
  });

  test('l= permits an appended footer, which the verdict reports; a body shorter than l= fails', async () => {
    const limited = signed('limited');
    expect(limited.toString('latin1')).toMatch(/;\s+l=\d+/);
    const longer = await authenticate(Buffer.concat([limited, Buffer.from('-- \r\nlist footer\r\n')]), zone);
    expect(longer.dkim).toMatchObject([{ result: 'pass', reason: expect.stringMatching(/^only the first \d+ bytes/) }]);
    const cut = limited.subarray(0, limited.indexOf('Dear'));
    expect(results(await authenticate(cut, zone))).toEqual(['permerror']);
  });

  test('revoked, missing, foreign, short and unreachable keys get different results', async () => {
    const raw = signed('relaxed');
    const name = 'TXT rsa._domainkey.example.org';
    const revoked = await authenticate(raw, { [name]: ['v=DKIM1; p='] });
    expect(revoked.dkim).toMatchObject([{ result: 'permerror', reason: 'the key is revoked' }]);
    expect(results(await authenticate(raw, {}))).toEqual(['permerror']);
    expect(results(await authenticate(raw, { [name]: [short.record] }))).toEqual(['fail']);
    expect(results(await authenticate(signed('tiny'), zone))).toEqual(['policy']);
    const offline = await authenticateMessage(
      { raw, envelope: { from: '' }, clientIp: null, helo: null, direction: 'inbound' },
      { resolveDns: async () => ({ ok: false, error: { kind: 'unreachable', reason: 'timeout' } }), now: () => NOW },
    );
    expect(results(offline)).toEqual(['temperror']);
    expect(offline.dmarc.result).toBe('temperror');
  });

  test('a second From before the signed one does not pass DMARC', async () => {
    const forged = Buffer.concat([Buffer.from('From: boss@victim.example\r\n'), signed('relaxed')]);
    const { dmarc } = await authenticate(forged, { ...zone, 'TXT _dmarc.victim.example': ['v=DMARC1; p=reject'] });
    expect(dmarc).toMatchObject({ result: 'permerror' });
  });

  test('a second field before the signed one, which mail clients would show instead, does not pass', async () => {
    for (const field of ['Subject: pay at once', 'To: you@victim.example', 'Content-Type: text/html']) {
      const forged = Buffer.concat([Buffer.from(`${field}\r\n`), signed('relaxed')]);
      expect([field, results(await authenticate(forged, zone))]).toEqual([field, ['policy']]);
    }
  });

  test('DMARC passes with an aligned signature, and requests rejection without one', async () => {
    const policy = { 'TXT _dmarc.example.org': ['v=DMARC1; p=quarantine; sp=reject; pct=100'] };
    const passed = await authenticate(signed('relaxed'), { ...zone, ...policy });
    expect(passed.dmarc).toMatchObject({ result: 'pass', domain: 'mail.example.org' });
    const failed = await authenticate(Buffer.from(MESSAGE), policy);
    expect(failed.dmarc).toMatchObject({ result: 'fail', policy: 'reject', disposition: 'reject' });
    const strict = { 'TXT _dmarc.mail.example.org': ['v=DMARC1; p=reject; adkim=s'] };
    expect((await authenticate(signed('relaxed'), { ...zone, ...strict })).dmarc).toMatchObject({ result: 'fail' });
  });

  test('ARC chains of one and two hops pass, and the results of the newest hop are read', async () => {
    expect((await authenticate(signed('oneHop'), zone)).arc).toMatchObject({
      result: 'pass',
      instances: 1,
      domain: 'list.example',
    });
    const two = (await authenticate(signed('twoHops'), zone)).arc;
    expect(two).toMatchObject({ result: 'pass', instances: 2, domain: 'relay.example' });
    expect(two.results).toContain('dkim=pass');
    expect((await authenticate(signed('relaxed'), zone)).arc.result).toBe('none');
  });

  test('an ARC chain overrides the DMARC policy only if all sealers are trusted and all hops saw a pass', async () => {
    const policy = { ...zone, 'TXT _dmarc.example.org': ['v=DMARC1; p=reject'] };
    const judge = async (name: string, trusted: string) =>
      (await authenticate(signed(name), policy, { trusted })).dmarc.disposition;
    expect(await judge('brokenByList', 'LIST.example, relay.example')).toBe('none');
    expect(
      (await authenticate(signed('brokenByList'), policy, { trusted: 'list.example,relay.example' })).dmarc,
    ).toMatchObject({
      result: 'fail',
      policy: 'reject',
    });
    expect(await judge('brokenByList', 'list.example')).toBe('reject');
    expect(await judge('brokenByList', 'relay.example')).toBe('reject');
    expect(await judge('brokenByList', '')).toBe('reject');
    expect(await judge('failedBefore', 'list.example')).toBe('reject');
    const other = replace(signed('brokenByList'), 'header.from=mail.example.org', 'header.from=evil.example');
    expect((await authenticate(other, policy, { trusted: 'list.example,relay.example' })).dmarc.disposition).toBe(
      'reject',
    );
  });

  test('ARC chains fail if the body, a seal or the chain itself changes', async () => {
    const two = signed('twoHops');
    const judge = async (raw: Uint8Array, names: Zone = zone) => (await authenticate(raw, names)).arc;
    expect((await judge(Buffer.concat([two, Buffer.from('x\r\n')]))).result).toBe('fail');
    expect((await judge(replace(two, 'i=1; list.example', 'i=1; evil.example'))).result).toBe('fail');
    expect(await judge(replace(two, 'ARC-Seal: i=1', 'X-Seal: i=1'))).toMatchObject({
      result: 'fail',
      reason: 'the chain has gaps or duplicates',
    });
    expect((await judge(two, toZone(rsa, relay))).result).toBe('fail');
  });
});

describe.skipIf(!hasOpendkim)('verification of OpenDKIM signatures', () => {
  test.each(['relaxed/relaxed', 'simple/simple', 'relaxed/simple', 'simple/relaxed'])(
    '%s: passes, and fails if a byte changes',
    async (form) => {
      const key = makeKey('mail.example.org', 'open', 'rsa');
      const raw = signByOpendkim(MESSAGE, key, form);
      expect(await authenticate(raw, toZone(key))).toMatchObject({ dkim: [{ result: 'pass' }] });
      expect(results(await authenticate(replace(raw, 'engine', 'engines'), toZone(key)))).toEqual(['fail']);
    },
  );
});
