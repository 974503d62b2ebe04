/**
 * Compares the trees of odd messages with those of Dovecot 2.3.19 (`imap.bodystructure` of doveadm, without envelopes). The messages
 * in the file have LF; they are read with CRLF.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredPart } from '../../../durable-objects/mail/contract/stored-part.ts';
import { openBytes, openStream } from '../../../workers/mail/checks/opened-message.ts';
import { readStructure } from '../../../workers/mail/mime/structure.ts';

interface Case {
  readonly name: string;
  readonly message: string;
  readonly dovecot: unknown;
}
const CASES: readonly Case[] = JSON.parse(readFileSync(join(import.meta.dirname, 'dovecot-structures.json'), 'utf8'));
const toBytes = (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1');

type Values = Readonly<Record<string, string>>;
const toPairs = (values: Values) => {
  const pairs = Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.length === 0 ? null : pairs.flat();
};

/** Lists a part in the order of BODYSTRUCTURE. */
function toList(part: StoredPart): unknown {
  const disposition = part.disposition ? [part.disposition.type, toPairs(part.disposition.parameters)] : null;
  const end = [disposition, part.language ?? null, part.location ?? null];
  if (part.parts) return [...part.parts.map(toList), part.subtype, toPairs(part.parameters), ...end];
  const { type, subtype, id = null, description = null, encoding, octets } = part;
  const start = [type, subtype, toPairs(part.parameters), id, description, encoding, octets];
  const message = part.message ? [toList(part.message)] : [];
  return [...start, ...message, ...(part.lines === undefined ? [] : [part.lines]), part.md5 ?? null, ...end];
}

/** Sorts parameters, and makes one language a list, as ours is. */
function normalize(list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  const isPairs = list.length % 2 === 0 && list.length > 0 && list.every((each) => typeof each === 'string');
  const isParameters = isPairs && /^[a-z0-9*-]+$/i.test(String(list[0])) && list[0] !== 'de';
  if (!isParameters) return list.map(normalize);
  const values: Record<string, string> = {};
  for (let at = 0; at < list.length; at += 2) values[String(list[at])] = String(list[at + 1]);
  return toPairs(values);
}

describe('the tree of a message', () => {
  it.each(CASES)('is that of Dovecot: $name', async ({ message, dovecot }) => {
    expect(toList(await readStructure(openBytes(toBytes(message))))).toEqual(normalize(dovecot));
  });

  it('has the same positions if large files were cut out while it was read', async () => {
    const file = Buffer.alloc(60_000, 'tessera').toString('base64');
    const lines = (width: number) => file.replace(new RegExp(`.{${width}}`, 'g'), '$&\r\n');
    const odd = `${lines(76)}${'QUJD'.repeat(5)}\r\n${lines(60)}`;
    const part = (more: string, body: string) => `--o\r\n${more}Content-Transfer-Encoding: base64\r\n\r\n${body}\r\n`;
    const inner = `Content-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n${odd}\r\n--i--\r\n`;
    const raw = Buffer.from(
      [
        'Content-Type: multipart/mixed; boundary=o\r\n\r\n',
        part('Content-Type: application/zip\r\n', lines(76)),
        `--o\r\nContent-Type: message/rfc822\r\n\r\n${inner}\r\n`,
        part('Content-Type: text/csv\r\nContent-Disposition: attachment\r\n', lines(76)),
        '--o--\r\n',
      ].join(''),
    );
    const read = async () => new Blob([raw]).stream();
    const pieces = async (range?: { offset: number; length: number }) => [
      raw.subarray(range?.offset ?? 0, range ? range.offset + range.length : undefined),
    ];
    const source = (async function* () {
      for (let at = 0; at < raw.length; at += 1_000) yield raw.subarray(at, at + 1_000);
    })();
    const cut = await openStream(source, { read, readPieces: pieces });
    expect(cut.cuts.length).toBeGreaterThan(1);
    expect(await readStructure(cut)).toEqual(await readStructure(openBytes(raw)));
  });
});
