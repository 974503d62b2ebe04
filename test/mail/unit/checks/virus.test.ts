import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Zippable, zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { scanMessage } from '../../../../workers/mail/checks/virus/scanner.ts';
import { EICAR } from '../../../../workers/mail/mime/virus-signatures.ts';

const eicar = Buffer.from(EICAR, 'latin1');

function attach(name: string, content: Uint8Array, encoding = 'base64', type = 'application/octet-stream'): Buffer {
  const bytes = Buffer.from(content);
  const body =
    encoding === 'base64'
      ? bytes.toString('base64').replace(/.{76}/g, '$&\r\n')
      : encoding === 'quoted-printable'
        ? toQuotedPrintable(bytes)
        : bytes.toString('latin1');
  return Buffer.from(
    `From: a@example.org\r\nSubject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nSee attached.\r\n--b\r\n` +
      `Content-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n--b--\r\n`,
    'latin1',
  );
}
function toQuotedPrintable(bytes: Uint8Array): string {
  const codes = Array.from(bytes, (byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`);
  return codes.map((code, at) => (at % 24 === 23 ? `${code}=\r\n` : code)).join('');
}
const zip = (files: Zippable) => zipSync(files);
const rules = (raw: Uint8Array) => scanMessage(raw).reasons.map((reason) => reason.rule);

describe('EICAR is found', () => {
  const inZips = (depth: number): Uint8Array =>
    depth === 0 ? eicar : zip({ [`level${depth}.bin`]: inZips(depth - 1) });
  const forwarded = attach('eicar.txt', eicar);
  const places: Record<string, Uint8Array> = {
    'as an attachment in base64': attach('a.txt', eicar),
    'in quoted-printable': attach('a.txt', eicar, 'quoted-printable'),
    'in plain 7bit text': attach('a.txt', eicar, '7bit', 'text/plain'),
    'in the middle of a larger file': attach(
      'a.bin',
      Buffer.concat([Buffer.alloc(70_000, 1), eicar, Buffer.alloc(9, 2)]),
    ),
    'in a zip': attach('a.zip', inZips(1)),
    'in a zip in a zip in a zip in a zip in a zip': attach('a.zip', inZips(5)),
    'stored without compression': attach('a.zip', zip({ 'e.txt': [eicar, { level: 0 }] })),
    'in a gzip': attach('a.gz', gzipSync(eicar)),
    'in a gzip of two members': attach('a.gz', Buffer.concat([gzipSync(Buffer.from('hello')), gzipSync(eicar)])),
    'in a zip under a harmless name and type': attach('holiday.jpg', inZips(2), 'base64', 'image/jpeg'),
    'in a forwarded message': attach('mail.eml', forwarded, '7bit', 'message/rfc822'),
    'in a forwarded message in base64': attach('mail.eml', forwarded, 'base64', 'message/rfc822'),
    'in a message in a zip': attach('mails.zip', zip({ 'mail.eml': forwarded })),
    'in a zip in a forwarded message in a zip': attach('m.zip', zip({ 'm.eml': attach('i.zip', inZips(1)) })),
    'uuencoded in the text': Buffer.from(`Subject: x\r\n\r\nhi\r\n\r\n${uuencode(eicar)}`),
    'after padding in the middle of base64': Buffer.from(
      `Content-Transfer-Encoding: base64\r\n\r\n${Buffer.from('x').toString('base64')}\r\n${eicar.toString('base64')}\r\n`,
    ),
  };
  for (const [place, raw] of Object.entries(places)) {
    test(place, () => {
      const { verdict, reasons } = scanMessage(raw);
      expect(verdict, JSON.stringify(reasons)).toBe('infected');
      expect(reasons[0]).toMatchObject({ rule: expect.stringMatching(/EICAR|KNOWN_FILE/) });
    });
  }

  test('in a tar and in a tar.gz written by tar', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tar-'));
    try {
      writeFileSync(join(folder, 'readme.txt'), 'hello');
      writeFileSync(join(folder, 'eicar.txt'), eicar);
      execFileSync('tar', ['cf', 'all.tar', 'readme.txt', 'eicar.txt'], { cwd: folder });
      const tar = readFileSync(join(folder, 'all.tar'));
      for (const raw of [
        attach('all.tar', tar),
        attach('all.tgz', gzipSync(tar)),
        attach('x.zip', zip({ 'all.tar': tar })),
      ]) {
        expect(scanMessage(raw).verdict).toBe('infected');
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('and its location is named from the outside in', () => {
    const raw = attach('outer.zip', zip({ 'inner.zip': zip({ 'e.txt': eicar }) }));
    expect(scanMessage(raw).reasons[0]?.part).toBe('outer.zip/inner.zip/e.txt');
  });
});

describe('programs and disguised programs are blocked', () => {
  const program = Buffer.concat([Buffer.from('MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff', 'latin1'), Buffer.alloc(200)]);
  test.each([
    ['setup.exe', 'DANGEROUS_TYPE'],
    ['invoice.pdf.exe', 'DOUBLE_EXTENSION'],
    ['photo.jpg                                  .scr', 'DOUBLE_EXTENSION'],
    ['report.docm', 'OFFICE_MACRO'],
    ['run.JS', 'DANGEROUS_TYPE'],
    ['trailing.exe. ', 'DANGEROUS_TYPE'],
  ])('%s by its name', (name, rule) => {
    const { verdict, reasons } = scanMessage(attach(name, Buffer.from('x')));
    expect([verdict, reasons[0]?.rule]).toEqual(['blocked', rule]);
  });

  test('by a name that right-to-left marks reverse', () => {
    expect(rules(attach('=?utf-8?B?cmVwb3J04oCuZmRwLmV4ZQ==?=', Buffer.from('x')))).toContain('NAME_REVERSED');
  });

  test('under a harmless name, also in a zip', () => {
    expect(rules(attach('photo.jpg', program))).toEqual(['PROGRAM']);
    expect(rules(attach('a.zip', zip({ 'photo.jpg': program })))).toEqual(['PROGRAM']);
  });

  test('by a dangerous name in an archive, even an encrypted one', () => {
    expect(rules(attach('a.zip', zip({ 'docs/virus.exe': Buffer.from('x') })))).toEqual(['DANGEROUS_TYPE']);
    expect(rules(attach('a.zip', zipWithEncryptedFlag('virus.exe'))).sort()).toEqual([
      'DANGEROUS_TYPE',
      'ENCRYPTED_ARCHIVE',
    ]);
  });

  test('in a document with macros', () => {
    expect(
      rules(
        attach('a.docx', zip({ 'word/document.xml': Buffer.from('<x/>'), 'word/vbaProject.bin': Buffer.from('x') })),
      ),
    ).toEqual(['OFFICE_MACRO']);
  });
});

describe('ordinary attachments are clean', () => {
  test.each([
    [
      'notes.txt',
      Buffer.from('MZ is how old programs begin, says this text which is long enough to be taken for one.'),
    ],
    ['photo.jpg', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(5_000, 7)])],
    [
      'report.docx',
      Buffer.from(zip({ '[Content_Types].xml': Buffer.from('<a/>'), 'word/document.xml': Buffer.from('<b/>') })),
    ],
    ['log.gz', gzipSync(Buffer.from('line\n'.repeat(1_000)))],
    ['zeros.zip', Buffer.from(zip({ 'zeros.bin': Buffer.alloc(500_000) }))],
    ['my.holiday.in.2026.pdf', Buffer.from('%PDF-1.4')],
  ])('%s', (name, content) => {
    expect(scanMessage(attach(name, content))).toEqual({ verdict: 'clean', reasons: [] });
  });
});

describe('content that cannot be scanned is "not scanned", never clean', () => {
  const nested = (depth: number): Uint8Array =>
    depth === 0 ? Buffer.from('hello') : zip({ 'x.zip': nested(depth - 1) });
  const cases: Record<string, [Uint8Array, string]> = {
    'an encrypted zip': [attach('a.zip', zipWithEncryptedFlag('letter.txt')), 'ENCRYPTED_ARCHIVE'],
    'a zip six deep': [attach('a.zip', nested(6)), 'TOO_DEEP'],
    'a rar': [attach('a.rar', Buffer.from('Rar!\x1a\x07\0rest', 'latin1')), 'CLOSED_ARCHIVE'],
    'a 7z': [attach('a.7z', Buffer.from('7z\xbc\xaf\x27\x1c\0\x04', 'latin1')), 'CLOSED_ARCHIVE'],
    'a zip cut short': [
      attach('a.zip', zip({ 'a.txt': Buffer.from('hello there') }).subarray(0, 40)),
      'DAMAGED_ARCHIVE',
    ],
    'a gzip cut short': [attach('a.gz', gzipSync(Buffer.from('hello there')).subarray(0, 15)), 'DAMAGED_ARCHIVE'],
    'a zip of 1,001 files': [
      attach('a.zip', zip(Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`${i}.txt`, Buffer.from('x')])))),
      'DAMAGED_ARCHIVE',
    ],
    'a zip with a file that its directory hides': [attach('a.zip', zipWithHiddenFile()), 'DAMAGED_ARCHIVE'],
    'a message of 1,001 parts': [
      Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(1_001)}--b--\r\n`),
      'TOO_MANY_PARTS',
    ],
    'messages 60 deep': [Buffer.from('Content-Type: message/rfc822\r\n\r\n'.repeat(60)), 'TOO_MANY_PARTS'],
  };
  for (const [name, [raw, rule]] of Object.entries(cases)) {
    test(name, () => {
      const { verdict, reasons } = scanMessage(raw);
      expect([verdict, reasons[0]?.rule], JSON.stringify(reasons)).toEqual(['not_scanned', rule]);
    });
  }

  test('a zip bomb of one file, of many files, or nested uses bounded memory', () => {
    const bombs = [
      attach('b.gz', gzipSync(Buffer.alloc(8_000_000))),
      attach(
        'b.zip',
        zip(Object.fromEntries(Array.from({ length: 106 }, (_, i) => [`${i}`, new Uint8Array(1_000_000)]))),
      ),
      attach('b.zip', zip({ 'inner.zip': zip({ big: new Uint8Array(8_000_000) }) })),
    ];
    for (const bomb of bombs) {
      const before = process.memoryUsage().arrayBuffers;
      const { verdict, reasons } = scanMessage(bomb);
      expect([verdict, reasons[0]?.rule]).toEqual(['not_scanned', 'TOO_LARGE']);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(300 * 1024 * 1024);
    }
  });
});

/** Makes a zip with the flag that `zip -e` sets on an entry. The scanner looks only at the flag and never reads the content. */
function zipWithEncryptedFlag(name: string): Uint8Array {
  const bytes = Buffer.from(zip({ [name]: Buffer.from('secret') }));
  bytes.writeUInt16LE(bytes.readUInt16LE(6) | 1, 6);
  const central = bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1'));
  bytes.writeUInt16LE(bytes.readUInt16LE(central + 8) | 1, central + 8);
  return bytes;
}

/** Makes a file of two joined archives. The directory lists only the file of the second one. */
function zipWithHiddenFile(): Uint8Array {
  const hidden = Buffer.from(zip({ 'evil.txt': Buffer.from('hidden') }));
  const local = hidden.subarray(0, hidden.indexOf(Buffer.from('PK\x01\x02', 'latin1')));
  const shown = Buffer.from(zip({ 'good.txt': Buffer.from('shown') }));
  const end = shown.length - 22;
  const glued = Buffer.concat([local, shown]);
  glued.writeUInt32LE(shown.readUInt32LE(end + 16) + local.length, local.length + end + 16);
  const central = local.length + shown.indexOf(Buffer.from('PK\x01\x02', 'latin1'));
  glued.writeUInt32LE(local.length, central + 42);
  return glued;
}

function uuencode(bytes: Uint8Array): string {
  const lines = ['begin 644 eicar.txt'];
  for (let at = 0; at < bytes.length; at += 45) {
    const line = Buffer.from(bytes.subarray(at, at + 45));
    let text = String.fromCharCode(32 + line.length);
    for (let i = 0; i < line.length; i += 3) {
      const [a = 0, b = 0, c = 0] = line.subarray(i, i + 3);
      for (const value of [a >> 2, ((a & 3) << 4) | (b >> 4), ((b & 15) << 2) | (c >> 6), c & 63])
        text += String.fromCharCode(value === 0 ? 96 : 32 + value);
    }
    lines.push(text);
  }
  return [...lines, '`', 'end', ''].join('\r\n');
}
