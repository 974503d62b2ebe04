/** Cards of tests, in Node and in workerd. */

/** Card of version 3.0 with properties that no program knows, and a folded line. */
export const makeCard = (uid: string, email: string, lines: readonly string[] = []): string =>
  [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `UID:${uid}`,
    'FN:Zoë Ångström',
    'N:Ångström;Zoë;;;',
    `item1.EMAIL;TYPE=home:${email}`,
    'item1.X-ABLabel:_$!<Home>!$_',
    'TEL;TYPE=CELL:+46 70 123',
    'X-UNKNOWN;X-P="a:b;c":one\\, two',
    ` ${'folded '.repeat(8)}`,
    ...lines,
    'END:VCARD',
    '',
  ].join('\r\n');
