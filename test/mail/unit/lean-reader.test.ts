/**
 * Tests that a large message that is read without its attachments is the same message for the parser, the scanner and signatures.
 */
import { createHash, randomBytes } from 'node:crypto';
import { zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { hashBody } from '../../../workers/mail/checks/authentication/canonical-form.ts';
import { checkMessage } from '../../../workers/mail/checks/index.ts';
import { type OpenedMessage, openBytes, openStream } from '../../../workers/mail/checks/opened-message.ts';
import { LEAN_BYTES_MAX } from '../../../workers/mail/mime/lean-reader.ts';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';
import { EICAR } from '../../../workers/mail/mime/virus-signatures.ts';
import { readPieces } from '../../support/mail/attachment-bytes.ts';
import { offlineDependencies } from './checks/messages.ts';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`SEED=${seed}`);
let state = seed;
/** Makes a generator of random numbers, reproducible by its seed (linear congruential, Numerical Recipes). */
const random = (below: number) => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

async function* inChunks(raw: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < raw.length; ) {
    const size = random(3) === 0 ? 1 + random(200) : 1 + random(40_000);
    yield raw.subarray(at, at + size);
    at += size;
  }
}
const open = (raw: Buffer) => openStream(inChunks(raw), openBytes(raw));

const wrap = (bytes: Uint8Array, width = 76, end = '\r\n') =>
  (
    Buffer.from(bytes)
      .toString('base64')
      .match(new RegExp(`.{1,${width}}`, 'g')) ?? []
  ).join(end);
const part = (header: string, body: string) => `--b\r\n${header}\r\n\r\n${body}\r\n`;
const toRaw = (...parts: string[]) =>
  Buffer.from(
    `From: a@far.test\r\nSubject: lean\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`,
    'latin1',
  );
const file = (name: string, bytes: Uint8Array, width?: number, end?: string) =>
  part(
    `Content-Type: application/octet-stream; name=${name}\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment`,
    wrap(bytes, width, end),
  );

/** Describes everything that is stored of a message. Files are represented by their hash. */
async function describeStored(opened: OpenedMessage) {
  const { attachments, ...parsed } = await parseMessage(opened.bytes, opened);
  const files = [];
  for (const { pieces, range, ...about } of attachments) {
    const bytes = await readPieces(opened, { pieces, range, ...about });
    const place = range && { offset: range.offset, length: range.length };
    files.push({ ...about, place, sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  return { ...parsed, files };
}

const check = async (raw: Uint8Array | OpenedMessage) => {
  const envelope = { from: 'a@far.test', to: ['b@example.test'] };
  const message = { raw, envelope, clientIp: null, helo: null, direction: 'inbound' as const };
  const checked = await checkMessage(message, {}, offlineDependencies);
  if (!checked.ok) throw new Error(checked.error.reason);
  return checked.value;
};

const big = (size = 40_000 + random(300_000)) => randomBytes(size);
const text = part('Content-Type: text/plain', 'Hello.\r\n\r\nBye.');
const nested = (inner: Buffer) => part('Content-Type: message/rfc822; name=inner.eml', inner.toString('latin1'));

const MESSAGES: Record<string, () => Buffer> = {
  'one file': () => toRaw(text, file('a.bin', big())),
  'many files, large and small': () => toRaw(text, ...[1, 2, 3, 4, 5].map((n) => file(`${n}.bin`, big(10 ** n * 4)))),
  'lines of any length': () => toRaw(text, ...[4, 57, 75, 77, 990].map((width) => file(`${width}.bin`, big(), width))),
  'one line without an end': () => toRaw(text, file('a.bin', big(), 10_000_000)),
  'bare LF': () => toRaw(text, file('a.bin', big(), 76, '\n')),
  'a footer after the file': () => toRaw(file('a.bin', big()).replace(/\r\n$/, '\r\n\r\n-- \r\nfrom my telephone\r\n')),
  'text in Base64': () =>
    toRaw(
      part(
        'Content-Type: text/plain\r\nContent-Transfer-Encoding: base64',
        wrap(Buffer.from('lots of words '.repeat(9_000))),
      ),
    ),
  'a table in Base64': () =>
    toRaw(
      text,
      part(
        'Content-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\nContent-Transfer-Encoding: base64',
        wrap(Buffer.from('1,2,3\n'.repeat(90_000))),
      ),
    ),
  'armour in plain text': () =>
    toRaw(part('Content-Type: text/plain', `-----BEGIN-----\r\n\r\n${wrap(big(), 64)}\r\n-----END-----`)),
  'a message in a message': () => toRaw(text, nested(toRaw(text, file('in.bin', big()), file('in2.bin', big())))),
  'a message in Base64': () =>
    toRaw(
      text,
      part(
        'Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64',
        wrap(toRaw(text, file('in.bin', big()))),
      ),
    ),
  'Base64 that is cut off': () => toRaw(text, file('a.bin', big()).slice(0, -4 - random(3))),
  'Base64 in a part not marked as Base64': () =>
    toRaw(
      text,
      part('Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=a', wrap(big())),
    ),
  'padding in the middle': () =>
    toRaw(
      text,
      part(
        'Content-Type: application/x-a\r\nContent-Transfer-Encoding: base64',
        `${wrap(big(50_000))}\r\n${wrap(big(40_001))}\r\n${wrap(big(50_002))}`,
      ),
    ),
  'a blank line in the middle': () =>
    toRaw(
      text,
      part('Content-Type: application/x-a\r\nContent-Transfer-Encoding: base64', `QUJ\r\n\r\n${wrap(big(50_000))}`),
    ),
  'nothing but Base64': () => Buffer.from(wrap(big())),
};

describe('a message with its attachments cut out', () => {
  for (const [name, make] of Object.entries(MESSAGES)) {
    test(`is stored and checked like the whole message: ${name}`, async () => {
      const raw = make();
      const opened = await open(raw);
      expect(await describeStored(opened)).toEqual(await describeStored(openBytes(raw)));
      expect(await check(opened)).toEqual(await check(raw));
      expect([opened.sizeBytes, opened.sha256]).toEqual([raw.length, openBytes(raw).sha256]);
    });
  }

  test('is small', async () => {
    const opened = await open(toRaw(text, file('a.bin', big(3_000_000)), file('b.bin', big(3_000_000))));
    expect(opened.cuts).toHaveLength(2);
    expect(opened.bytes.length).toBeLessThan(2_000);
  });

  test('reveals a virus in a file, a zip, a message, or after a blank line', async () => {
    const virus = Buffer.concat([big(60_000), Buffer.from(EICAR), big(60_000)]);
    const zip = zipSync({ 'a.txt': new Uint8Array(virus) }, { level: 0 });
    for (const parts of [
      file('a.bin', virus),
      file('a.zip', zip),
      nested(toRaw(text, file('in.zip', zip))),
      part('Content-Type: application/x-a\r\nContent-Transfer-Encoding: base64', `QUJD\r\n\r\n${wrap(virus)}`),
    ]) {
      expect((await check(await open(toRaw(text, parts)))).virus.verdict).toBe('infected');
    }
  });

  test('cannot be forged: a line that looks like a placeholder stays text', async () => {
    const place = Buffer.alloc(57, `cut 0 of ${'0'.repeat(32)} `);
    const raw = toRaw(text, file('fake.bin', place), file('a.bin', big()));
    const { files } = await describeStored(await open(raw));
    expect(files.map((each) => each.sizeBytes)).toEqual([57, expect.any(Number)]);
  });

  test('with text beyond the limit is kept with a note, and never called clean', async () => {
    const raw = toRaw(part('Content-Type: text/plain', 'words and words\r\n'.repeat(LEAN_BYTES_MAX / 16)));
    const opened = await open(raw);
    expect(opened.isWhole).toBe(false);
    expect(await parseMessage(opened.bytes, opened)).toMatchObject({ subject: 'lean', isComplete: false });
    expect((await check(opened)).virus).toMatchObject({ verdict: 'not_scanned', reasons: [{ rule: 'TOO_LARGE' }] });
  });
});

test('has the same body hash in one piece and in many, in both forms', async () => {
  const letters = ['a', ' ', '\t', '\r\n', '\n', '\r', '  \r\n', 'bc', '\r\n\r\n', ' \r', '='];
  for (let round = 0; round < 300; round += 1) {
    const body = Array.from({ length: random(60) }, () => letters[random(letters.length)]).join('');
    for (const form of ['simple', 'relaxed'] as const) {
      const header = `DKIM-Signature: v=1; a=rsa-sha256; d=far.test; s=s; h=from; c=simple/${form}; bh=x; b=x\r\nFrom: a@far.test\r\n\r\n`;
      const raw = Buffer.from(header + body, 'latin1');
      const opened = await openStream(
        (async function* () {
          for (let at = 0; at < raw.length; at += 1) yield raw.subarray(at, at + 1);
        })(),
        openBytes(raw),
      );
      const whole = hashBody(Buffer.from(body, 'latin1'), form, 'sha256', null);
      expect([body, opened.digestBody?.(form, 'sha256', null)]).toEqual([body, whole]);
      expect([body, whole.digest]).toEqual([body, referenceDigest(body, form)]);
    }
  }
});

/** Computes the digest of RFC 6376 §3.4.3 and §3.4.4, implemented literally. A bare LF counts as a line end. */
function referenceDigest(body: string, form: 'simple' | 'relaxed'): Buffer {
  let lines = body.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  if (form === 'relaxed') lines = lines.map((line) => line.replace(/[ \t]+$/, '').replace(/[ \t]+/g, ' '));
  while (lines.at(-1) === '') lines.pop();
  const canonical = lines.map((line) => `${line}\r\n`).join('') || (form === 'simple' ? '\r\n' : '');
  return createHash('sha256').update(canonical, 'latin1').digest();
}
