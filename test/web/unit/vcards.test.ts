import { expect, it } from 'vitest';
import { readVcards } from '../../../web/mail/transfer/vcards.ts';

it('reads names and addresses of versions 2.1, 3.0 and 4.0', () => {
  const cards = [
    'BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann\\, Dr. Bee\r\nN:Bee;Ann;;;\r\nEMAIL;TYPE=INTERNET:ann@elsewhere.test\r\nitem1.EMAIL;TYPE="a:b":ann@w\r\n ork.test\r\nEND:VCARD',
    'BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6=\nrg\nEMAIL;PREF;INTERNET:joerg@elsewhere.test\nEND:VCARD',
    'BEGIN:VCARD\nVERSION:4.0\nFN:Zoë\nEMAIL:mailto:zoe@elsewhere.test\nEMAIL:ANN@elsewhere.test\nNOTE:a: b\nEND:VCARD',
    'BEGIN:VCARD\nFN:No Address\nTEL:123\nEND:VCARD',
  ];
  expect(readVcards(cards.join('\r\n'))).toEqual([
    { name: 'Ann, Dr. Bee', email: 'ann@elsewhere.test' },
    { name: 'Ann, Dr. Bee', email: 'ann@work.test' },
    { name: 'Jörg Müller', email: 'joerg@elsewhere.test' },
    { name: 'Zoë', email: 'zoe@elsewhere.test' },
  ]);
});

it('takes no longer for hostile files', () => {
  expect(readVcards(`BEGIN:VCARD\nFN:${';"'.repeat(200_000)}\nEMAIL:${'a@'.repeat(100_000)}\n`)).toEqual([]);
});
