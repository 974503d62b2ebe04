import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { type ImportSource, listSources } from '../../../web/mail/transfer/import-sources.ts';
import { SourceReader } from '../../../web/mail/transfer/source-reader.ts';
import { listZipEntries } from '../../../web/mail/transfer/zip-entries.ts';
import { hasClient } from '../../support/real-client.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const letter = (n: number) =>
  `From x@y.test Sat Jan 10 10:00:00 2026\nSubject: ${n}\n\n${`Line ${n}\n`.repeat(2_000)}\n`;
const MBOX = Array.from({ length: 200 }, (_, n) => letter(n)).join('');
/** The paths of an export of Google Takeout. */
const TAKEOUT = {
  'Takeout/archive_browser.html': bytes('<html></html>'),
  'Takeout/Mail/All mail Including Spam and Trash.mbox': bytes(MBOX),
  'Takeout/Mail/User Settings/Filters.json': bytes('{}'),
  'Takeout/Contacts/All Contacts/All Contacts.vcf': bytes('BEGIN:VCARD\r\nEND:VCARD\r\n'),
  'Takeout/Contacts/.hidden.mbox': bytes(''),
};

async function readPieces(source: ImportSource, offset = 0): Promise<string[]> {
  const reader = await SourceReader.open(source, offset);
  const pieces: string[] = [];
  for (let piece = await reader.next(); piece; piece = await reader.next())
    pieces.push(new TextDecoder().decode(piece));
  return pieces;
}
const named = (sources: readonly ImportSource[]) => sources.map(({ kind, name, size }) => [kind, name, size]);
const file = (content: Uint8Array<ArrayBuffer> | string, name: string, relativePath = '') =>
  Object.defineProperty(new File([content], name), 'webkitRelativePath', { value: relativePath });

describe('an archive of Google Takeout', () => {
  it.each([0, 6] as const)('is read without unpacking it, packed with level %d', async (level) => {
    const archive = file(zipSync(TAKEOUT, { level }) as Uint8Array<ArrayBuffer>, 'takeout.zip');
    const sources = await listSources([archive]);
    expect(named(sources)).toEqual([
      ['mbox', 'All mail Including Spam and Trash.mbox', MBOX.length],
      ['contacts', 'All Contacts.vcf', 24],
    ]);
    const [mbox] = sources;
    if (!mbox) throw new Error('no mbox');
    const pieces = await readPieces(mbox);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join('')).toBe(MBOX);
    for (const piece of pieces) expect(piece.startsWith('From x@y.test')).toBe(true);
    // An interrupted import continues after the pieces that were sent.
    expect((await readPieces(mbox, pieces[0]?.length)).join('')).toBe(MBOX.slice(pieces[0]?.length));
  });

  it.skipIf(!hasClient('python3'))('may have been written by another program, as a stream with Zip64', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tessera-zip-'));
    const path = join(directory, 'mail.mbox');
    writeFileSync(path, MBOX);
    const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[2], 'w', zipfile.ZIP_DEFLATED) as archive:
    with archive.open('Ordner/Größe.mbox', 'w', force_zip64=True) as entry:
        entry.write(open(sys.argv[1], 'rb').read())
    archive.comment = b'a comment'`;
    execFileSync('python3', ['-c', script, path, join(directory, 'mail.zip')]);
    const archive = new Blob([readFileSync(join(directory, 'mail.zip'))]);
    rmSync(directory, { recursive: true });
    const [entry] = await listZipEntries(archive);
    expect([entry?.name, entry?.size]).toEqual(['Ordner/Größe.mbox', MBOX.length]);
    expect(await new Response(await entry?.open()).text()).toBe(MBOX);
  });

  it('is refused if it is cut off, or none', async () => {
    const archive = zipSync(TAKEOUT) as Uint8Array<ArrayBuffer>;
    await expect(listZipEntries(new Blob([archive.subarray(0, archive.length - 30)]))).rejects.toThrow(
      'end is missing',
    );
    await expect(listZipEntries(new Blob(['Subject: none\n\n']))).rejects.toThrow('not a zip archive');
  });
});

describe('files and folders', () => {
  it('are mbox, messages or contacts by their names', async () => {
    const sources = await listSources([
      file(MBOX, 'Inbox'),
      file(MBOX, 'mbox', 'Old.mbox/mbox'),
      file('x', 'table_of_contents', 'Old.mbox/table_of_contents'),
      file('Subject: 1\n\n', '1.EML', 'letters/1.EML'),
      file('x', 'picture.png', 'letters/picture.png'),
      file('BEGIN:VCARD', 'people.vcf'),
    ]);
    expect(named(sources).map(([kind, name]) => [kind, name])).toEqual([
      ['mbox', 'Inbox'],
      ['mbox', 'mbox'],
      ['message', '1.EML'],
      ['contacts', 'people.vcf'],
    ]);
    expect(await readPieces(sources[2] as ImportSource)).toEqual(['Subject: 1\n\n']);
  });
});
