/** What stands in for `iconv-lite` in imapflow must encode names of folders as that does. */
import { expect, it } from 'vitest';
import { decode, encode } from '../../../workers/mail/inbound/pull/imapflow/iconv-lite.ts';

const UTF7 = 'utf-7-imap';

it.each([
  // RFC 3501 §5.1.3
  ['~peter/mail/台北/日本語', '~peter/mail/&U,BTFw-/&ZeVnLIqe-'],
  ['R&D', 'R&-D'],
  ['Entwürfe', 'Entw&APw-rfe'],
  ['😀', '&2D3eAA-'],
  ['INBOX', 'INBOX'],
])('writes the name %s as %s', (name, encoded) => {
  expect(encode(name, UTF7).toString()).toBe(encoded);
  expect(decode(Buffer.from(encoded), UTF7)).toBe(name);
});

it('keeps what is not in that form', () => {
  expect(decode(Buffer.from('R & D, Größe'), UTF7)).toBe('R & D, Größe');
});

it('has no other encoding', () => {
  expect(() => decode(Buffer.from(''), 'shift_jis')).toThrow('shift_jis');
});
