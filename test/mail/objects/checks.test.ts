/** Runs the mail checks inside workerd, with its WebCrypto, charsets and sockets. */
import { env } from 'cloudflare:workers';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { type CheckDependencies, checkMessage, type MessageToCheck } from '../../../workers/mail/checks/index.ts';
import { createCheckDependencies } from '../../../workers/mail/checks/production-dependencies.ts';
import { EICAR } from '../../../workers/mail/mime/virus-signatures.ts';
import fixtures from '../../fixtures/signed-mail.json';

const zone: Readonly<Record<string, readonly string[]>> = fixtures.zone;
const dependencies: CheckDependencies = {
  ...createCheckDependencies(env),
  resolveDns: async (name, type) => {
    const records = zone[`${type} ${name}`];
    return records ? { ok: true, value: records } : { ok: false, error: { kind: 'no_such_domain' } };
  },
};
const check = async (raw: Uint8Array, more: Partial<MessageToCheck> = {}) => {
  const message = {
    raw,
    envelope: { from: 'ada@example.org', to: ['bob@example.test'] },
    clientIp: '192.0.2.3',
    helo: 'x',
  };
  const checked = await checkMessage({ ...message, direction: 'inbound', ...more }, {}, dependencies);
  if (!checked.ok) throw new Error(checked.error.reason);
  return checked.value;
};
const text = (value: string) => new TextEncoder().encode(value);

describe('inside workerd', () => {
  for (const [name, encoded] of Object.entries(fixtures.messages)) {
    it(`accepts a message that dkimpy signed (${name}), and detects a change to it`, async () => {
      const raw = Buffer.from(encoded, 'base64');
      const { authentication } = await check(raw);
      expect(authentication.dkim.map((signature) => signature.result)).toEqual(
        name === 'both' ? ['pass', 'pass'] : ['pass'],
      );
      expect(authentication.arc.result).toBe(name === 'arc' ? 'pass' : 'none');
      const changed = await check(Buffer.concat([raw, Buffer.from('P.S.\r\n')]));
      expect(new Set(changed.authentication.dkim.map((signature) => signature.result))).toEqual(new Set(['fail']));
      const forged = await check(Buffer.from(raw.toString('latin1').replace('Figures', 'Fingers'), 'latin1'));
      expect(new Set(forged.authentication.dkim.map((signature) => signature.result))).toEqual(new Set(['fail']));
    });
  }

  it('decodes charsets, and checks mail in them', async () => {
    const head = 'From: a@b.example\r\nSubject: x\r\nContent-Type: text/plain; charset=';
    const bodies = {
      'iso-2022-jp': '\x1b$BF|K\\8l\x1b(B',
      gb2312: '\xc4\xe3\xba\xc3',
      'koi8-r': '\xf0\xd2\xc9\xd7\xc5\xd4',
      'no-such-charset': 'x',
    };
    for (const [charset, body] of Object.entries(bodies)) {
      const { spam } = await check(Buffer.from(`${head}${charset}\r\n\r\n${body}\r\n`, 'latin1'));
      expect(spam.verdict, charset).toBe('ham');
    }
  });

  it('finds GTUBE and EICAR, and gives the reasons', async () => {
    const gtube = await check(
      text('Subject: x\r\n\r\nXJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n'),
    );
    expect(gtube.spam).toMatchObject({ verdict: 'reject', engine: 'built-in' });
    const zip = Buffer.from(zipSync({ 'inner.zip': zipSync({ 'e.txt': text(EICAR) }) })).toString('base64');
    const virus = await check(
      text(`Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${zip}\r\n`),
    );
    expect(virus.virus).toMatchObject({ verdict: 'infected', reasons: [{ part: 'a.zip/inner.zip/e.txt' }, {}] });
  });

  it('reports a compression bomb as not scanned', async () => {
    const bomb = Buffer.from(zipSync({ zeros: new Uint8Array(30_000_000) })).toString('base64');
    const { virus } = await check(
      text(`Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${bomb}\r\n`),
    );
    expect(virus).toMatchObject({ verdict: 'not_scanned', reasons: [{ rule: 'TOO_LARGE' }] });
  });

  it('defers mail when clamd is not running, over a real socket', async () => {
    const message = {
      raw: text('Subject: x\r\n\r\nhello\r\n'),
      envelope: { from: '', to: [] },
      clientIp: null,
      helo: null,
    };
    const checked = await checkMessage(
      { ...message, direction: 'inbound' },
      { CLAMD_ADDRESS: '127.0.0.1:9' },
      dependencies,
    );
    expect(checked).toMatchObject({ ok: false, error: { kind: 'deferred' } });
  });

  it('queries no resolver if none is configured', async () => {
    const { resolveDns } = createCheckDependencies(env);
    expect(await resolveDns('example.org', 'TXT')).toMatchObject({ ok: false, error: { kind: 'unreachable' } });
  });
});
