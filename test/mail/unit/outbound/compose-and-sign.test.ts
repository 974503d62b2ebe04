import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { createBodyHasher } from '../../../../workers/mail/dkim/body-hash.ts';
import { generateDkimKey, toDkimRecord } from '../../../../workers/mail/dkim/keys.ts';
import { signMessage } from '../../../../workers/mail/dkim/sign.ts';
import { toBase64Size } from '../../../../workers/mail/domain/base64-size.ts';
import { type Composition, composeMessage, streamMessage } from '../../../../workers/mail/outbound/compose-message.ts';
import { hasPythonModules } from '../../../support/real-client.ts';

const composition: Composition = {
  from: { name: 'Änne "Q" O’Neil', email: 'anne@example.test' },
  to: [{ name: '日本語 テスト', email: 'to@far.test' }],
  cc: [{ name: '', email: 'cc@far.test' }],
  subject: 'Grüße, 世界 — a subject that is long enough to be folded into several encoded words for sure',
  text: 'Hellö\n.dot\r\nFrom here\n',
  html: '<p>Hellö <img src="cid:pic@x"></p>',
  attachments: [],
  messageId: '<m1@example.test>',
  inReplyTo: '<m0@far.test>',
  references: ['<a@far.test>', '<m0@far.test>'],
  date: new Date(Date.UTC(2026, 10, 21)),
};

async function compose(files: readonly { name: string; bytes: Buffer; cid?: string; type?: string }[], chunk = 1000) {
  const composed = await composeMessage(
    {
      ...composition,
      attachments: files.map((file) => ({
        fileName: file.name,
        contentType: file.type ?? 'application/octet-stream',
        sizeBytes: file.bytes.length,
        contentId: file.cid ?? null,
      })),
    },
    randomBytes(16),
  );
  const pieces: Uint8Array[] = [];
  async function* open(n: number) {
    const bytes = files[n]?.bytes ?? Buffer.alloc(0);
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
  }
  for await (const piece of streamMessage(composed, async (n) => open(n))) pieces.push(piece);
  return { raw: Buffer.concat(pieces), sizeBytes: composed.sizeBytes };
}

test('a message parses back to its names, subject, bodies, threads and files', async () => {
  const picture = randomBytes(5000);
  const { raw, sizeBytes } = await compose([
    { name: 'résumé 2026.pdf', bytes: randomBytes(100_001), type: 'application/pdf' },
    { name: 'pic.png', bytes: picture, cid: 'pic@x', type: 'image/png' },
    { name: 'empty.bin', bytes: Buffer.alloc(0) },
    { name: 'old.eml', bytes: Buffer.from('Subject: x\r\n\r\nbody'), type: 'message/rfc822' },
  ]);
  expect(raw.length).toBe(sizeBytes);
  expect(raw.some((byte: number) => byte > 127)).toBe(false);
  const text = raw.toString();
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(Math.max(...text.split('\r\n').map((line: string) => line.length))).toBeLessThanOrEqual(998);
  expect(text).not.toMatch(/^bcc:/im);
  const parsed = await PostalMime.parse(raw);
  expect(parsed.from).toMatchObject({ name: composition.from.name, address: 'anne@example.test' });
  expect(parsed.to?.[0]).toMatchObject({ name: '日本語 テスト', address: 'to@far.test' });
  expect(parsed.subject).toBe(composition.subject);
  expect(parsed.text?.trimEnd()).toBe('Hellö\n.dot\nFrom here');
  expect(parsed.messageId).toBe('<m1@example.test>');
  expect(parsed.inReplyTo).toBe('<m0@far.test>');
  expect(parsed.references).toBe('<a@far.test> <m0@far.test>');
  const names = parsed.attachments.map((attachment) => attachment.filename);
  expect(new Set(names)).toEqual(new Set(['résumé 2026.pdf', 'pic.png', 'empty.bin', 'old.eml']));
  const inline = parsed.attachments.find((attachment) => attachment.filename === 'pic.png');
  expect(Buffer.from(inline?.content as ArrayBuffer).equals(picture)).toBe(true);
  expect(inline?.contentId).toBe('<pic@x>');
});

test.each(['=?utf-8?q?x=0d=0aX-Evil:_y?=', 'x'.repeat(2_000), 'é'.repeat(2_000), `${'wörd '.repeat(300)}end`])(
  'a subject parses back unchanged, in lines that SMTP allows: %s',
  async (subject) => {
    const composed = await composeMessage({ ...composition, subject }, randomBytes(16));
    const raw = Buffer.concat(composed.segments as Uint8Array[]);
    const lines = raw.toString('latin1').split('\r\n');
    expect(Math.max(...lines.map((line: string) => line.length))).toBeLessThanOrEqual(998);
    expect((await PostalMime.parse(raw)).subject).toBe(subject);
  },
);

test('the size is known before any byte is read, for any files and chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 130 }),
      async (sizes, chunk) => {
        const files = sizes.map((size, n) => ({ name: `f${n}.bin`, bytes: randomBytes(size) }));
        const { raw, sizeBytes } = await compose(files, chunk);
        expect(raw.length).toBe(sizeBytes);
        const parsed = await PostalMime.parse(raw);
        for (const [n, file] of files.entries()) {
          const found = parsed.attachments.find((attachment) => attachment.filename === `f${n}.bin`);
          expect(Buffer.from(found?.content as ArrayBuffer).equals(file.bytes)).toBe(true);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('the size of Base64 in lines is computed correctly', () => {
  for (const size of [0, 1, 56, 57, 58, 114, 115, 1000]) {
    const lines =
      Buffer.alloc(size)
        .toString('base64')
        .match(/.{1,76}/g) ?? [];
    expect(toBase64Size(size)).toBe(lines.join('\r\n').length);
  }
});

test('the body hash follows RFC 6376 for whitespace, trailing empty lines and any chunks', () => {
  const canonical = (body: string) => {
    const lines = body.split('\r\n').map((line: string) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''));
    while (lines.length > 0 && lines.at(-1) === '') lines.pop();
    return lines.length === 0 ? '' : `${lines.join('\r\n')}\r\n`;
  };
  const bodies = fc.array(fc.constantFrom(' ', '\t', '\r\n', 'a', 'bc'), { maxLength: 30 }).map((p) => p.join(''));
  fc.assert(
    fc.property(bodies, fc.integer({ min: 1, max: 7 }), (body, size) => {
      const hasher = createBodyHasher();
      const raw = Buffer.from(`Subject: x\r\n\r\n${body}`);
      for (let at = 0; at < raw.length; at += size) hasher.push(raw.subarray(at, at + size));
      expect(hasher.header().toString()).toBe('Subject: x\r\n');
      expect(hasher.digest()).toBe(createHash('sha256').update(canonical(body)).digest('base64'));
    }),
    { numRuns: 300 },
  );
});

const hasDkimpy = hasPythonModules('dkim', 'nacl');

test.skipIf(!hasDkimpy)('python3-dkim accepts our RSA and Ed25519 signatures, and detects any change', async () => {
  const keys = await Promise.all(
    (['rsa-sha256', 'ed25519-sha256'] as const).map(async (algorithm) => {
      const key = await generateDkimKey(algorithm);
      return { ...key, domain: 'example.test', selector: algorithm.slice(0, 3) };
    }),
  );
  const { raw } = await compose([{ name: 'a b.bin', bytes: randomBytes(50_000) }]);
  const hasher = createBodyHasher();
  hasher.push(raw);
  const signed = Buffer.concat([
    Buffer.from(await signMessage(hasher.header(), hasher.digest(), keys, Date.now())),
    raw,
  ]);
  expect(
    Math.max(
      ...signed
        .toString()
        .split('\r\n')
        .map((line: string) => line.length),
    ),
  ).toBeLessThanOrEqual(998);
  const records = Object.fromEntries(
    keys.map((key) => [`${key.selector}._domainkey.example.test.`, toDkimRecord(key)]),
  );
  const judge = (message: Buffer) => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-dkim-'));
    writeFileSync(join(folder, 'm.eml'), message);
    const script = `
import dkim, json
raw = open(${JSON.stringify(join(folder, 'm.eml'))}, 'rb').read()
records = json.loads(${JSON.stringify(JSON.stringify(records))})
dns = lambda name, timeout=5: records[(name.decode() if isinstance(name, bytes) else name)].encode()
def judge(n):
    try:
        return dkim.DKIM(raw).verify(idx=n, dnsfunc=dns)
    except dkim.ValidationError:
        return False
print(json.dumps([judge(0), judge(1)]))
`;
    const run = spawnSync('/usr/bin/python3', ['-c', script], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(run.stderr);
    return JSON.parse(run.stdout);
  };
  expect(judge(signed)).toEqual([true, true]);
  const changed = Buffer.from(signed);
  changed.write('X', changed.length - 200);
  expect(judge(changed)).toEqual([false, false]);
  const added = ['From', 'To', 'Cc', 'Reply-To', 'Subject', 'Date', 'Message-ID', 'Content-Type', 'MIME-Version'];
  for (const name of added)
    expect([name, judge(Buffer.concat([Buffer.from(`${name}: <boss@example.test>\r\n`), signed]))]).toEqual([
      name,
      [false, false],
    ]);
  expect(signed.toString('latin1').split('\r\n\r\n')[0]).not.toMatch(/\bbcc\b/i);
});

test('user input adds no header and no line longer than SMTP allows', async () => {
  const text = (max: number) => fc.string({ unit: 'grapheme', maxLength: max });
  const hostileText = fc.constantFrom(
    '"',
    '\\',
    '<x@y.test>',
    ',',
    ';',
    ':',
    '(',
    '=?utf-8?b?DQpCY2M6?=',
    '\u202e',
    'é'.repeat(90),
    '@',
  );
  const line = fc
    .array(fc.oneof(text(40), hostileText), { maxLength: 6 })
    .map((all) => all.join('').replace(/[\p{Cc}\u2028\u2029]/gu, ''));
  const local = fc.constantFrom('a', 'a+b', '"a,b"', '"a@b"', "o'neil", '"\\\\"');
  const person = fc.record({ name: line, email: local.map((name) => `${name}@far.test`) });
  const id = fc.oneof(
    line.map((inner) => `<${inner}>`),
    fc.constant(`<${'x'.repeat(990)}>`),
    fc.constant('<ok@far.test>'),
  );
  const fileOf = fc.record({
    fileName: fc.oneof(line, fc.constant('n'.repeat(250)), fc.constant('é'.repeat(250))),
    contentType: fc.constantFrom(
      'text/plain',
      'application/pdf; name="a"',
      'message/rfc822',
      'text/html; charset=utf-7',
      'multipart/mixed; boundary=x',
    ),
    sizeBytes: fc.constant(0),
    contentId: fc.oneof(fc.constant(null), fc.stringMatching(/^[!-;=?-~]{1,200}$/)),
  });
  const allowed =
    /^(?:from|to|cc|subject|message-id|in-reply-to|references|date|mime-version|content-(?:type|transfer-encoding|disposition|id))$/;
  const messages = fc.record({
    from: person,
    to: fc.array(person, { maxLength: 4 }),
    cc: fc.array(person, { maxLength: 2 }),
    subject: line,
    text: fc.oneof(text(200), fc.constant(`${'long '.repeat(400)}\r\n.\r\n`), fc.constant('\0\ud800\r.\n')),
    html: fc.oneof(fc.constant(null), text(100)),
    attachments: fc.array(fileOf, { maxLength: 2 }),
    inReplyTo: fc.oneof(fc.constant(null), id),
    references: fc.array(id, { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(messages, async (message) => {
      const composed = await composeMessage({ ...composition, ...message }, randomBytes(16));
      const raw = Buffer.concat(composed.segments.filter((each) => each instanceof Uint8Array)).toString('latin1');
      expect(raw).toMatch(/^[\t\r\n -~]*$/);
      expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
      expect(Math.max(...raw.split('\r\n').map((each: string) => each.length))).toBeLessThanOrEqual(998);
      const names = (raw.split('\r\n\r\n')[0] ?? '')
        .replace(/\r\n[ \t]/g, ' ')
        .split('\r\n')
        .map((each: string) => each.split(':')[0] ?? '');
      for (const name of names) expect(name.toLowerCase()).toMatch(allowed);
      expect(new Set(names.map((name: string) => name.toLowerCase())).size).toBe(names.length);
      const parsed = await PostalMime.parse(raw);
      expect(parsed.from?.address).toBe(message.from.email);
    }),
    { numRuns: 300 },
  );
});
