/**
 * Tests hostile input: no check may throw, and every check must return a verdict. Random cases print their seed on failure. The
 * large cases would take minutes or exhaust memory if any step were not linear.
 */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { hashBody } from '../../../../workers/mail/checks/authentication/canonical-form.ts';
import { checkSpf, SPF_LOOKUPS_MAX } from '../../../../workers/mail/checks/authentication/spf.ts';
import { type CheckDependencies, checkMessage, type ResolveDns } from '../../../../workers/mail/checks/index.ts';
import { readHtml } from '../../../../workers/mail/checks/spam/html-text.ts';
import { scanMessage } from '../../../../workers/mail/checks/virus/scanner.ts';
import { readMimeTree } from '../../../../workers/mail/mime/mime-tree.ts';
import { EICAR } from '../../../../workers/mail/mime/virus-signatures.ts';
import { offlineDependencies } from './messages.ts';

const RUNS = { numRuns: 300 };
const pieces = (list: readonly string[], maxLength: number) =>
  fc
    .array(fc.oneof(fc.constantFrom(...list), fc.string({ maxLength: 8 })), { maxLength })
    .map((parts) => parts.join(''));

async function check(raw: Uint8Array, resolveDns: ResolveDns = offlineDependencies.resolveDns) {
  const dependencies: CheckDependencies = { ...offlineDependencies, resolveDns };
  const message = { envelope: { from: 'a@b.example', to: [] }, clientIp: '192.0.2.1', helo: 'h.example' };
  const checked = await checkMessage({ raw, ...message, direction: 'inbound' }, {}, dependencies);
  if (!checked.ok) throw new Error(checked.error.reason);
  const { spam, virus, authentication } = checked.value;
  expect(Number.isFinite(spam.score)).toBe(true);
  expect(virus.verdict === 'clean').toBe(virus.reasons.length === 0);
  for (const reason of [...spam.reasons, ...virus.reasons]) expect(reason.rule).not.toBe('');
  expect(authentication.spf.result).not.toBe('');
  return checked.value;
}

const MAIL = [
  'From: a@b.example\r\n',
  'From: ',
  'Subject: ',
  'To: x@y\r\n',
  'Date: ',
  'Message-ID: <',
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  ';',
  '"',
  'Content-Type: multipart/mixed; boundary=b\r\n',
  'Content-Type: text/html; charset=',
  'utf-8',
  'utf-7',
  'Content-Type: message/rfc822\r\n',
  'Content-Transfer-Encoding: base64\r\n',
  'Content-Transfer-Encoding: quoted-printable\r\n',
  'Content-Disposition: attachment; filename*0*=',
  "utf-8''%",
  '=?utf-8?b?',
  '=?x?q?',
  '?=',
  '--b\r\n',
  '--b--\r\n',
  '=',
  '=0',
  'begin 644 x\r\n',
  'M####\r\n',
  '<a href="',
  '<!--',
  '>',
  '<script>',
  '&#x110000;',
  '&#0;',
  'DKIM-Signature: v=1; a=rsa-sha256; c=',
  'd=b.example; s=s; h=from; bh=; b=\r\n',
  'ARC-Seal: i=1; cv=none; ',
  'ARC-Message-Signature: i=1;',
  'ARC-Authentication-Results: i=1; x\r\n',
  'i=2;',
  'l=99999999999999999999;',
];

describe('random input', () => {
  test('of bytes is checked without an error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (raw) => void (await check(raw))),
      RUNS,
    );
  });

  test('of mail fragments in any order is checked without an error', async () => {
    await fc.assert(
      fc.asyncProperty(pieces(MAIL, 60), async (text) => void (await check(Buffer.from(text, 'latin1')))),
      { numRuns: 1_500 },
    );
  });

  test('never yields parts outside the message or bytes in two parts', () => {
    const property = fc.property(pieces(MAIL, 60), (text) => {
      const raw = Buffer.from(text, 'latin1');
      const { parts } = readMimeTree(raw);
      const total = parts.reduce((sum, part) => sum + part.content.length, 0);
      expect(total).toBeLessThanOrEqual(raw.length);
    });
    fc.assert(property, { numRuns: 1_500 });
  });

  test('of HTML is read without an error', () => {
    const tags = [
      '<',
      '>',
      '</',
      '<a href=',
      '"',
      "'",
      '<!--',
      '-->',
      '<style>',
      '</style',
      '<div style="display:none"',
      '&amp',
      '&#',
      ';',
      '<td',
      ' hidden',
    ];
    fc.assert(
      fc.property(pieces(tags, 80), (html) => void readHtml(html)),
      { numRuns: 2_000 },
    );
  });

  test('of archives with flipped, missing and repeated bytes: EICAR is found or a reason is given', () => {
    const archives = [
      zipSync({ 'a.txt': Buffer.from('hello '.repeat(50)), 'b.zip': zipSync({ 'e.txt': Buffer.from(EICAR) }) }),
      gzipSync(Buffer.from('hello '.repeat(500))),
      tarOf('a.txt', Buffer.from('hello')),
    ];
    const property = fc.property(
      fc.constantFrom(...archives),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
      fc.nat(),
      (archive, flips, cut) => {
        const bytes = Buffer.from(archive);
        for (const [at, value] of flips) bytes[at % bytes.length] = value;
        const raw = Buffer.concat([
          Buffer.from('Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=x\r\n\r\n'),
          Buffer.from(bytes.subarray(0, cut % 3 === 0 ? cut % bytes.length : bytes.length).toString('base64')),
        ]);
        const { verdict, reasons } = scanMessage(raw);
        expect(verdict === 'clean').toBe(reasons.length === 0);
      },
    );
    fc.assert(property, { numRuns: 2_000 });
  });

  test('of SPF policies ends within the limit on look-ups', async () => {
    const terms = [
      'v=spf1 ',
      'include:',
      'a:',
      'a ',
      'mx ',
      'ptr ',
      'exists:',
      'redirect=',
      'exp=',
      'b.example ',
      '%{i}',
      '%{d2r.-}',
      '%{',
      '%',
      'ip4:192.0.2.0/24 ',
      'ip6:::/0 ',
      '-all',
      '/33 ',
      '//129 ',
      ' ',
    ];
    const property = fc.asyncProperty(pieces(terms, 30), async (record) => {
      let asked = 0;
      const resolveDns: ResolveDns = async (_, type) => {
        asked += 1;
        const records = {
          TXT: [`v=spf1 ${record}`],
          A: ['192.0.2.9'],
          AAAA: ['::1'],
          MX: ['1 b.example'],
          PTR: ['b.example'],
          SRV: [],
        };
        return { ok: true, value: records[type] };
      };
      await checkSpf({ clientIp: '192.0.2.1', helo: 'b.example', sender: 'x@b.example' }, resolveDns, 0);
      // Limit of DNS queries: each of the ten look-ups of SPF may query one policy and, through mx or ptr, ten addresses. Macros
      // may cause as many queries for the client name.
      expect(asked).toBeLessThan((SPF_LOOKUPS_MAX + 2) * 25 * 12);
    });
    await fc.assert(property, { numRuns: 1_000 });
  });

  test('of DNS answers is accepted at every query', async () => {
    const records = [
      'v=DKIM1; p=',
      'v=spf1 ',
      'v=DMARC1; p=',
      'reject',
      'k=ed25519;',
      'AAAA',
      'MIIB',
      ';',
      '=',
      ' ',
      '-all',
      'pct=0',
      'sp=x',
      '%{d}',
      '10 ',
      '.',
      '::',
      '\u0000',
      '\u00ff',
    ];
    const raw = Buffer.from(
      'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=b.example; s=s; h=from; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=AAAA\r\nFrom: a@b.example\r\n\r\n',
    );
    const property = fc.asyncProperty(fc.array(pieces(records, 12), { maxLength: 4 }), async (answer) => {
      await check(raw, async () => ({ ok: true, value: answer }));
    });
    await fc.assert(property, { numRuns: 1_000 });
  });

  test('of bodies has the same hash, whatever whitespace the relaxed form ignores', () => {
    const lines = fc.array(fc.constantFrom('a', ' b', 'c  d', '', ' ', '\t', 'e\t \tf', 'g '), { maxLength: 30 });
    const property = fc.property(lines, (list) => {
      const digest = (text: string) => hashBody(Buffer.from(text), 'relaxed', 'sha256', null).digest.toString('hex');
      const plain = list.map((line) => line.replace(/[ \t]+/g, ' ').trimEnd());
      expect(digest(list.map((line) => `${line}\r\n`).join(''))).toBe(
        digest(plain.map((line) => `${line}\r\n`).join('')),
      );
      expect(digest(`${list.join('\n')}\n`)).toBe(digest(`${list.join('\r\n')}\r\n`));
      expect(digest(`${list.join('\r\n')}\r\n\r\n\r\n`)).toBe(digest(`${list.join('\r\n')}\r\n`));
    });
    fc.assert(property, RUNS);
  });
});

describe('large input', () => {
  const SIZE = 3_000_000;
  const fill = (text: string) => text.repeat(Math.ceil(SIZE / text.length));
  const head = 'From: a@b.example\r\nSubject: x\r\n';
  const nested = Array.from(
    { length: 49 },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
  ).join('');
  const bodies: Record<string, () => string> = {
    'a Message-ID of addresses': () => `Message-ID: ${fill('a@b.c,')}\r\n${head}\r\n`,
    'a From of brackets': () => `From: ${fill('<a@')}\r\n\r\n`,
    'a Subject of half encoded words': () => `Subject: ${fill('=?utf-8?q?')}\r\n\r\n`,
    'a header of folds': () => `Subject: ${fill(' \r\n ')}\r\n${head}\r\n`,
    'a header of fields': () => `${fill('A: b\r\n')}\r\nx`,
    signatures: () =>
      `${fill('DKIM-Signature: v=1; a=rsa-sha256; d=b.example; s=s; h=from; bh=x; b=y\r\n')}${head}\r\n`,
    'lines of dashes under 49 boundaries': () => `${head}${nested}${fill('--b\r\n')}`,
    'parts that are messages': () =>
      `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${fill('--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\n')}`,
    'parts without a blank line': () =>
      `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${fill('--b\r\nA: b\r\n')}`,
    'padding all over base64': () => `${head}Content-Transfer-Encoding: base64\r\n\r\n${fill('YQ==')}`,
    'soft line breaks': () => `${head}Content-Transfer-Encoding: quoted-printable\r\n\r\n${fill('=   ')}`,
    'uuencoded files': () => `${head}\r\n${fill('begin 644 a\r\n#86)C\r\n')}`,
    'open tags': () => `${head}Content-Type: text/html\r\n\r\n${fill('<a href="')}`,
    'half comments': () => `${head}Content-Type: text/html\r\n\r\n${fill('<!-')}`,
    'half of every phrase': () =>
      `${head}\r\n${fill('late president million earn $5 verify account debt section 301 you have ')}`,
    'one word': () => `${head}\r\n${fill('a')}`,
  };
  for (const [name, make] of Object.entries(bodies)) {
    test(name, async () => {
      await check(Buffer.from(make(), 'latin1'));
    });
  }

  test('of base64 with padding everywhere is scanned to its end', () => {
    const raw = `Content-Transfer-Encoding: base64\r\n\r\n${'YQ=='.repeat(5_000)}${Buffer.from(EICAR).toString('base64')}`;
    expect(scanMessage(Buffer.from(raw)).verdict).toBe('infected');
  });

  test('that two clients may read differently is not called clean', () => {
    const twice =
      'Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n';
    expect(scanMessage(Buffer.from(twice))).toMatchObject({
      verdict: 'not_scanned',
      reasons: [{ rule: 'HEADER_AMBIGUOUS' }],
    });
    const buried = `${'A: b\r\n'.repeat(2_100)}Content-Type: multipart/mixed; boundary=b\r\n\r\nx`;
    expect(scanMessage(Buffer.from(buried))).toMatchObject({
      verdict: 'not_scanned',
      reasons: [{ rule: 'HEADER_TOO_LARGE' }],
    });
  });
});

function tarOf(name: string, content: Uint8Array): Uint8Array {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(content.length.toString(8).padStart(11, '0'), 124);
  header.write('ustar', 257);
  return Buffer.concat([header, content, Buffer.alloc(512 - (content.length % 512)), Buffer.alloc(1_024)]);
}
