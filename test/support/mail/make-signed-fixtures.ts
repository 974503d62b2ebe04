/**
 * `node test/support/mail/make-signed-fixtures.ts` writes `test/fixtures/signed-mail.json`: messages that dkimpy signed with new
 * keys. The tests inside workerd use them, because they cannot run other programs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeKey, signByDkimpy, toZone } from './signed-mail.ts';

const rsa = makeKey('example.org', 'rsa', 'rsa');
const short = makeKey('example.org', 'short', 'rsa', 1024);
const long = makeKey('example.org', 'long', 'rsa', 4096);
const ed = makeKey('example.org', 'ed', 'ed25519');
const list = makeKey('list.example', 'arc', 'rsa');
const message = [
  'From: Ada <ada@example.org>',
  'To: bob@example.test',
  'Subject: Figures   for\t you',
  'Date: Sat, 21 Nov 2026 09:00:00 +0000',
  'Message-ID: <1@example.org>',
  '',
  'Dear  Bob,\t ',
  '',
  'the engine weaves patterns.',
  '',
  '',
].join('\r\n');

const signed = signByDkimpy({
  rsa: { message, steps: [{ do: 'dkim', key: rsa }] },
  simple: { message, steps: [{ do: 'dkim', key: rsa, canonicalize: 'simple/simple' }] },
  short: { message, steps: [{ do: 'dkim', key: short }] },
  long: { message, steps: [{ do: 'dkim', key: long }] },
  ed25519: { message, steps: [{ do: 'dkim', key: ed }] },
  both: {
    message,
    steps: [
      { do: 'dkim', key: rsa },
      { do: 'dkim', key: ed },
    ],
  },
  arc: {
    message,
    steps: [
      { do: 'dkim', key: rsa },
      { do: 'arc', key: list, results: 'list.example; arc=none; dkim=pass header.d=example.org' },
    ],
  },
});
const messages = Object.fromEntries(Object.entries(signed).map(([name, raw]) => [name, raw.toString('base64')]));
const zone = toZone(rsa, short, long, ed, list);
const file = join(import.meta.dirname, '../../fixtures/signed-mail.json');
writeFileSync(file, `${JSON.stringify({ zone, messages }, null, 2)}\n`);
