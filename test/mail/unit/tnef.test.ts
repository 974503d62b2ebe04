/** Tests winmail.dat (TNEF): its files and texts must be shown, and the file itself must never be lost. */
import { describe, expect, it } from 'vitest';
import { scanMessage } from '../../../workers/mail/checks/virus/scanner.ts';
import { decompressRtf } from '../../../workers/mail/mime/compressed-rtf.ts';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';
import { readTnef } from '../../../workers/mail/mime/tnef.ts';

const u16 = (value: number) => Buffer.from([value & 255, value >> 8]);
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);

/** Encodes an attribute with its checksum ([MS-OXTNEF] §2.1.3.1). */
function attribute(level: 1 | 2, id: number, data: Buffer | string): Buffer {
  const bytes: Buffer = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
  const sum = bytes.reduce((total, byte) => (total + byte) & 0xffff, 0);
  return Buffer.concat([Buffer.from([level]), u32(id), u32(bytes.length), bytes, u16(sum)]);
}
const value = (type: number, id: number, data: Buffer) =>
  Buffer.concat([u16(type), u16(id), u32(1), u32(data.length), padded(data)]);
const unicode = (id: number, text: string) => value(0x001f, id, Buffer.from(`${text}\0`, 'utf16le'));
const ansi = (id: number, text: string) => value(0x001e, id, Buffer.from(`${text}\0`, 'latin1'));
const binary = (id: number, data: Buffer) => value(0x0102, id, data);
const integer = (id: number, number: number) => Buffer.concat([u16(3), u16(id), u32(number)]);
const named = (name: string) => {
  const text = Buffer.from(`${name}\0`, 'utf16le');
  return Buffer.concat([u16(3), u16(0x8001), Buffer.alloc(16, 7), u32(1), u32(text.length), padded(text), u32(5)]);
};
const properties = (...list: Buffer[]) => Buffer.concat([u32(list.length), ...list]);
const tnef = (...attributes: Buffer[]) => Buffer.concat([u32(0x223e9f78), u16(1), ...attributes]);
const codePage = (page: number) => attribute(1, 0x00069007, Buffer.concat([u32(page), u32(0)]));
const file = (title: string, content: string, ...list: Buffer[]) =>
  Buffer.concat([
    attribute(2, 0x00069002, Buffer.alloc(14)),
    attribute(2, 0x00018010, `${title}\0`),
    attribute(2, 0x0006800f, content),
    ...(list.length > 0 ? [attribute(2, 0x00069005, properties(...list))] : []),
  ]);
const messageProperties = (...list: Buffer[]) => attribute(1, 0x00069003, properties(...list));

const mail = (winmail: Buffer, text = 'Hi') =>
  Buffer.concat([
    Buffer.from(
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${text}\r\n--b\r\nContent-Type: application/ms-tnef; name=winmail.dat\r\nContent-Transfer-Encoding: base64\r\n\r\n`,
    ),
    Buffer.from(`${winmail.toString('base64')}\r\n--b--\r\n`),
  ]);
const bytesOf = (pieces: readonly unknown[]) => Buffer.concat(pieces.filter((piece) => piece instanceof Uint8Array));
async function shown(winmail: Buffer, text?: string) {
  const parsed = await parseMessage(mail(winmail, text));
  const [first, ...rest] = parsed.attachments.map((each) => [each.fileName, bytesOf(each.pieces).toString('latin1')]);
  expect(first).toEqual(['winmail.dat', winmail.toString('latin1')]);
  return { text: parsed.text.trim(), html: parsed.html, files: rest };
}

describe('winmail.dat', () => {
  it.each<[string, Buffer, string[][]]>([
    ['with a file', tnef(codePage(1252), file('A.TXT', 'one')), [['A.TXT', 'one']]],
    [
      'with two files of one name',
      tnef(file('a.txt', 'one'), file('a.txt', 'two')),
      [
        ['a.txt', 'one'],
        ['a (2).txt', 'two'],
      ],
    ],
    [
      'with a long name',
      tnef(file('LONG~1.TXT', 'x', unicode(0x3707, 'long näme 漢.txt'))),
      [['long näme 漢.txt', 'x']],
    ],
    ['with a name in a code page', tnef(codePage(1251), file('\xcf\xf0\xe8.txt', 'x')), [['При.txt', 'x']]],
    ['with a name in a DOS code page', tnef(codePage(850), file('\x84.txt', 'x')), [['ä.txt', 'x']]],
    [
      'with properties before the name',
      tnef(file('a', 'x', integer(0x3705, 1), named('key'), ansi(0x3707, 'b.txt'))),
      [['b.txt', 'x']],
    ],
    ['with data in its properties', tnef(file('a.bin', '', binary(0x3701, Buffer.from('data')))), [['a.bin', 'data']]],
    ['with a path', tnef(file('..\\..\\a.exe.txt', 'x')), [['a.exe.txt', 'x']]],
    ['with an empty file', tnef(file('a.txt', '')), [['a.txt', '']]],
    ['without files', tnef(codePage(1252)), []],
    ['cut inside a file', tnef(file('a.txt', 'one'), file('b.txt', 'two')).subarray(0, -4), [['a.txt', 'one']]],
    ['cut in its signature', tnef().subarray(0, 5), []],
    [
      'with a huge length',
      Buffer.concat([tnef(file('a.txt', 'one')), Buffer.from('0202900600ffffff7f00', 'hex')]),
      [['a.txt', 'one']],
    ],
    [
      'with a bad level',
      Buffer.concat([tnef(file('a.txt', 'one')), attribute(7 as 1, 0x0006800f, 'x')]),
      [['a.txt', 'one']],
    ],
    [
      'with properties that end early',
      tnef(file('a.txt', 'one', ansi(0x3707, 'b.txt').subarray(0, 9))),
      [['a.txt', 'one']],
    ],
    [
      'with a property of an unknown type',
      tnef(file('a.txt', 'one', Buffer.concat([u16(0x0999), u16(0x3707), u32(1)]))),
      [['a.txt', 'one']],
    ],
    [
      'with four billion properties',
      tnef(attribute(1, 0x00069003, u32(0xffffffff)), file('a.txt', 'one')),
      [['a.txt', 'one']],
    ],
    ['that is another file', Buffer.from('PK\x03\x04 not TNEF'), []],
    ['that is empty', Buffer.alloc(0), []],
  ])('%s', async (_, winmail, files) => {
    expect((await shown(winmail)).files).toEqual(files);
  });

  it('gives its text to a message that has none', async () => {
    const plain = messageProperties(unicode(0x1000, 'Grüße\r\nAnn'));
    expect(await shown(tnef(plain), '')).toMatchObject({ text: 'Grüße\nAnn', html: null });
    expect(await shown(tnef(plain), 'Hi')).toMatchObject({ text: 'Hi' });
    expect(await shown(tnef(codePage(1252), attribute(1, 0x0002800c, 'caf\xe9\0')), '')).toMatchObject({
      text: 'café',
    });
    const html = messageProperties(integer(0x3fde, 65001), binary(0x1013, Buffer.from('<p>ü<script>x</script></p>')));
    expect(await shown(tnef(html), '')).toMatchObject({ text: 'ü', html: '<p>ü</p>' });
  });

  it('gives its formatted text as a file if there is no other', async () => {
    // Compressed RTF from the example of [MS-OXRTFCP] §3.1.1.
    const rtf = Buffer.from(
      '2d0000002b0000004c5a4675f1c5c7a703000a0072637067313235423 20af32068656c090020627705b06c647d0a800fa0'.replace(
        / /g,
        '',
      ),
      'hex',
    );
    const text = '{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n';
    expect(Buffer.from(decompressRtf(rtf, 1e6) ?? []).toString()).toBe(text);
    expect((await shown(tnef(messageProperties(binary(0x1009, rtf))))).files).toEqual([['message.rtf', text]]);
    expect(decompressRtf(rtf, 10)).toBeNull();
    expect(decompressRtf(rtf.subarray(0, 20), 1e6)?.length).toBeLessThan(20);
    expect(decompressRtf(Buffer.alloc(3), 1e6)).toBeNull();
    expect((await shown(tnef(messageProperties(binary(0x1009, Buffer.from('rubbish')))))).files).toEqual([]);
  });

  it('never throws, whatever bytes are damaged', () => {
    const whole = tnef(
      codePage(1252),
      messageProperties(unicode(0x1000, 'x'), named('k')),
      file('a', 'b', ansi(0x3707, 'c')),
    );
    for (let at = 6; at < whole.length; at += 1) {
      for (const byte of [0, 1, 0x7f, 0xff]) {
        const damaged = Buffer.from(whole);
        damaged[at] = byte;
        expect(readTnef(damaged)?.files.length).toBeLessThan(3);
        expect(readTnef(damaged.subarray(0, at))?.isWhole ?? false).toBeTypeOf('boolean');
      }
    }
  });

  it('is opened by the scanner', () => {
    const clean = scanMessage(mail(tnef(file('a.txt', 'one'))));
    expect(clean).toEqual({ verdict: 'clean', reasons: [] });
    const blocked = scanMessage(mail(tnef(file('A.TXT', 'x', unicode(0x3707, 'run.exe')))));
    expect(blocked).toMatchObject({ verdict: 'blocked', reasons: [{ part: 'winmail.dat/run.exe' }] });
    const inner = tnef(file('b.js', 'x'));
    const nested = scanMessage(
      mail(tnef(file('m', '', value(0x000d, 0x3701, Buffer.concat([Buffer.alloc(16), inner]))))),
    );
    expect(nested.verdict).toBe('blocked');
    expect(scanMessage(mail(tnef(file('a.txt', 'one')).subarray(0, -1))).verdict).toBe('not_scanned');
  });
});
