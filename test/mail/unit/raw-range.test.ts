/** Tests that a file that is served from the raw message equals the file that the parser decoded, as a whole and in every part. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { type OpenedMessage, openBytes, openStream } from '../../../workers/mail/checks/opened-message.ts';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';
import { readPieces, readServed } from '../../support/mail/attachment-bytes.ts';
import { readCorpus } from '../../support/mail/corpus.ts';

const CORPUS = process.env.MAIL_CORPUS ?? join(import.meta.dirname, '../../../../shared/data/spam-training.tar.gz');

async function* inOnePiece(raw: Buffer): AsyncGenerator<Uint8Array> {
  yield raw;
}
const openCut = (raw: Buffer): Promise<OpenedMessage> => openStream(inOnePiece(raw), openBytes(raw));
const random = (below: number) => Math.floor(Math.random() * below);

/** Compares every file of a message with its decoded form. @returns the files as served. */
async function check(raw: Buffer, opened: OpenedMessage): Promise<Buffer[]> {
  const { attachments } = await parseMessage(opened.bytes, opened);
  const files: Buffer[] = [];
  for (const file of attachments) {
    const decoded = await readPieces(opened, file);
    const served = await readServed(raw, file, decoded.length);
    if (served === null) continue;
    expect(served.equals(decoded), file.fileName).toBe(true);
    for (let round = 0; round < 8 && decoded.length > 0; round += 1) {
      const first = random(decoded.length);
      const last = Math.min(decoded.length - 1, first + random(round < 4 ? 100 : decoded.length));
      const part = await readServed(raw, file, decoded.length, { first, last });
      expect(part?.equals(decoded.subarray(first, last + 1)), `${file.fileName} ${first}-${last}`).toBe(true);
    }
    files.push(served);
  }
  return files;
}

const toRaw = (encoding: string, body: string, type = 'application/x-a') =>
  Buffer.from(
    'From: a@far.test\r\nSubject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n' +
      `--b\r\nContent-Type: ${type}; name=a\r\nContent-Disposition: attachment\r\n` +
      `${encoding === '' ? '' : `Content-Transfer-Encoding: ${encoding}\r\n`}\r\n${body}\r\n--b--\r\n`,
    'latin1',
  );
const wrap = (bytes: Uint8Array, width: number, end: string) =>
  (
    Buffer.from(bytes)
      .toString('base64')
      .match(new RegExp(`.{1,${width}}`, 'g')) ?? []
  ).join(end);

const BASE64 = wrap(randomBytes(3_000), 76, '\r\n');
const BODIES: Record<string, [encoding: string, body: string, type?: string]> = {
  'no encoding': ['', 'plain\r\ntext\r\n'],
  '7bit': ['7bit', 'a,b\r\n'.repeat(500)],
  '8bit': ['8bit', 'Gr\xfc\xdfe\r\n'.repeat(50)],
  binary: ['binary', randomBytes(2_000).toString('latin1').replaceAll('--b', 'xxx')],
  'an unknown encoding': ['x-none', 'as it is'],
  'an empty file': ['base64', ''],
  'quoted-printable': ['quoted-printable', 'a=3Db=\r\nc=C3=BC  =\r\n d\r\n'],
  'damaged quoted-printable': ['quoted-printable', 'a=3=ZZ==3\r\n=\r\n=4'],
  'a Base64 file': ['base64', BASE64],
  'Base64 in another case': ['BASE64', BASE64],
  'Base64 without padding': ['base64', 'QUJDRA'],
  'Base64 with padding in the middle': ['base64', `QQ==\r\n${BASE64}`],
  'Base64 with other characters': ['base64', `QU*JD\r\n RE VG!\r\n${BASE64}`],
  'the URL-safe alphabet': ['base64', '_-_-QUJD'],
  'Base64 that breaks off': ['base64', BASE64.slice(0, -5)],
  uuencode: ['x-uuencode', 'begin 644 a.txt\r\n#86)C\r\n`\r\nend'],
  'a message': ['', 'Subject: inner\r\n\r\nhi', 'message/rfc822'],
  'a message in Base64': ['base64', Buffer.from('Subject: inner\r\n\r\nhi').toString('base64'), 'message/rfc822'],
};

describe('a file is served as it was decoded', () => {
  it.each(Object.entries(BODIES))('%s', async (_, [encoding, body, type]) => {
    const raw = toRaw(encoding, body, type);
    const whole = await check(raw, openBytes(raw));
    expect(whole).toHaveLength(1);
    expect((await check(raw, await openCut(raw)))[0]?.equals(whole[0] ?? Buffer.of(1))).toBe(true);
  });

  it.each([
    [76, '\r\n'],
    [76, '\n'],
    [64, '\r\n'],
    [72, '\n'],
    [77, '\r\n'],
    [1_000_000, '\r\n'],
  ])('a long one in lines of %i', async (width, end) => {
    const content = randomBytes(40_000 + random(500));
    const raw = toRaw('base64', wrap(content, width, end));
    const opened = await openCut(raw);
    expect(opened.cuts).toHaveLength(1);
    expect((await check(raw, opened))[0]?.equals(content)).toBe(true);
  });

  it('a long one whose lines differ, or whose last line is the longest', async () => {
    const content = randomBytes(60_000);
    const parts = [content.subarray(0, 30_000), content.subarray(30_000)];
    const joined = [wrap(parts[0] ?? content, 76, '\r\n'), wrap(parts[1] ?? content, 60, '\r\n')].join('\r\n');
    const long = `${wrap(content.subarray(0, 57_000), 76, '\r\n')}\r\n${content.subarray(57_000).toString('base64')}`;
    for (const body of [joined, long]) {
      const raw = toRaw('base64', body);
      expect((await check(raw, await openCut(raw)))[0]?.equals(content)).toBe(true);
    }
  });

  it('several, some inside an attached message', async () => {
    const contents = [randomBytes(50_000), randomBytes(20), randomBytes(33_333)];
    const inner = toRaw('base64', wrap(contents[0] ?? Buffer.of(), 76, '\r\n'))
      .toString('latin1')
      .replaceAll('b', 'k');
    const parts = contents.map(
      (bytes, n) =>
        `--o\r\nContent-Type: image/png; name=${n}\r\nContent-Transfer-Encoding: base64\r\n\r\n${wrap(bytes, 76, '\r\n')}\r\n`,
    );
    const head = 'From: a@far.test\r\nContent-Type: multipart/mixed; boundary=o\r\n\r\n';
    const raw = Buffer.from(
      `${head}${parts[0]}--o\r\nContent-Type: message/rfc822\r\n\r\n${inner}\r\n${parts[1]}${parts[2]}--o--\r\n`,
      'latin1',
    );
    for (const opened of [openBytes(raw), await openCut(raw)]) {
      const served = await check(raw, opened);
      expect(served).toHaveLength(4);
      expect(served[1]?.toString('latin1').trimEnd()).toBe(inner.trimEnd());
      expect([served[0], served[2], served[3]].map((file, n) => file?.equals(contents[n] ?? Buffer.of()))).toEqual([
        true,
        true,
        true,
      ]);
    }
  });
});

/** Removes a difference: postal-mime changes line ends of a file without an encoding. */
const toPlain = (file: Buffer) => file.toString('latin1').replaceAll('\r\n', '\n').trimEnd();

describe.skipIf(!existsSync(CORPUS))('real mail', () => {
  it('has the files that postal-mime decodes', async () => {
    let files = 0;
    for (const message of readCorpus(CORPUS)) {
      const raw = Buffer.from(message.raw);
      const served = [...(await check(raw, openBytes(raw))), ...(await check(raw, await openCut(raw)))];
      files += served.length / 2;
      if (served.length === 0) continue;
      const { attachments } = await PostalMime.parse(raw, { attachmentEncoding: 'arraybuffer' });
      const binary = attachments.filter(({ mimeType }) => !/^(?:text|message|multipart)\//.test(mimeType));
      const texts = served.map(toPlain);
      for (const { content } of binary) expect(texts).toContain(toPlain(Buffer.from(content as ArrayBuffer)));
    }
    expect(files).toBeGreaterThan(50);
  });
});
