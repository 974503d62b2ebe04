import { describe, expect, it } from 'vitest';
import { openBytes } from '../../../../workers/mail/checks/opened-message.ts';
import { toKeywords, toLabel, toMarks } from '../../../../workers/mail/domain/keywords.ts';
import { parseBlobId, toPartBlobId } from '../../../../workers/mail/jmap/domain/blob-id.ts';
import {
  foldField,
  toAddressesValue,
  toDateValue,
  toParameter,
} from '../../../../workers/mail/jmap/domain/compose-headers.ts';
import { markPreview, markSubject, toWords } from '../../../../workers/mail/jmap/domain/highlight.ts';
import { readBody, readBodyValue, toBodyPartJson, truncate } from '../../../../workers/mail/jmap/objects/body-parts.ts';
import { composeEmail } from '../../../../workers/mail/jmap/objects/compose-email.ts';
import { readEmailPatch } from '../../../../workers/mail/jmap/objects/email-patch.ts';
import { parseHeaderProperty, readHeaderProperty } from '../../../../workers/mail/jmap/objects/header-forms.ts';
import { readNewEmail } from '../../../../workers/mail/jmap/objects/new-email.ts';
import type { Call } from '../../../../workers/mail/jmap/protocol/method.ts';
import { readHeaders } from '../../../../workers/mail/mime/mime-tree.ts';
import { streamMessage } from '../../../../workers/mail/outbound/compose-message.ts';
import { RequestBudget } from '../../../../workers/shared/pure/request-budget.ts';

const open = (...lines: string[]) => openBytes(Buffer.from(lines.join('\r\n')));
const header = (property: string, ...lines: string[]) => {
  const parsed = parseHeaderProperty(property);
  if (!parsed) throw new Error(`${property} is no property`);
  return readHeaderProperty(readHeaders(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)).headers, parsed);
};

describe('a header property', () => {
  it('has the form that its name asks for', () => {
    expect(header('header:Subject', 'Subject: =?utf-8?Q?caf=C3=A9?=')).toBe(' =?utf-8?Q?caf=C3=A9?=');
    expect(header('header:subject:asText', 'SUBJECT: =?utf-8?Q?caf=C3=A9?=\r\n  au lait')).toBe('café  au lait');
    expect(header('header:From:asAddresses', 'From: "Ann, B" <a@x.test>, c@x.test')).toEqual([
      { name: 'Ann, B', email: 'a@x.test' },
      { name: null, email: 'c@x.test' },
    ]);
    expect(header('header:To:asGroupedAddresses', 'To: z@x.test, Friends: a@x.test, B <b@x.test>;, y@x.test')).toEqual([
      { name: null, addresses: [{ name: null, email: 'z@x.test' }] },
      {
        name: 'Friends',
        addresses: [
          { name: null, email: 'a@x.test' },
          { name: 'B', email: 'b@x.test' },
        ],
      },
      { name: null, addresses: [{ name: null, email: 'y@x.test' }] },
    ]);
    expect(header('header:References:asMessageIds', 'References: <a@x>\r\n <b@x>')).toEqual(['a@x', 'b@x']);
    expect(header('header:Message-ID:asMessageIds', 'Message-ID: none')).toBeNull();
    expect(header('header:Date:asDate', 'Date: Thu, 30 Oct 2014 14:12:00 +0800 (CST)')).toBe(
      '2014-10-30T14:12:00+08:00',
    );
    expect(header('header:Date:asDate', 'Date: Thu, 30 Oct 2014 06:12:00 GMT')).toBe('2014-10-30T06:12:00Z');
    expect(header('header:List-Post:asURLs', 'List-Post: <mailto:l@x.test> (Post), <https://x.test>')).toEqual([
      'mailto:l@x.test',
      'https://x.test',
    ]);
  });

  it('is the last field of its name, or all of them', () => {
    expect(header('header:X-A:asText', 'X-A: 1', 'X-A: 2')).toBe('2');
    expect(header('header:X-A:asText:all', 'X-A: 1', 'X-A: 2')).toEqual(['1', '2']);
    expect(header('header:X-B')).toBeNull();
    expect(header('header:X-B:all')).toEqual([]);
  });

  it('is refused in a form that does not fit the field', () => {
    for (const name of [
      'header:From:asDate',
      'header:Subject:asURLs',
      'header:Date:asText',
      'header:',
      'header:A b',
      'header:X:asFoo',
      'header:X:asraw',
    ])
      expect([name, parseHeaderProperty(name)]).toEqual([name, null]);
    expect(parseHeaderProperty('header:X-Own:asDate:all')).toEqual({ name: 'x-own', form: 'Date', isAll: true });
  });
});

describe('the body of a message', () => {
  const nested = open(
    'Content-Type: multipart/mixed; boundary=a',
    '',
    '--a',
    'Content-Type: multipart/alternative; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'gr=C3=BCn',
    '--b',
    'Content-Type: multipart/related; boundary=c',
    '',
    '--c',
    'Content-Type: text/html',
    '',
    '<p>green</p>',
    '--c',
    'Content-Type: image/png; name=p.png',
    'Content-ID: <p@x>',
    'Content-Disposition: inline',
    'Content-Transfer-Encoding: base64',
    '',
    'AAECAw==',
    '--c--',
    '--b--',
    '--a',
    'Content-Type: message/rfc822',
    '',
    'Subject: inner',
    '',
    'inner text',
    '--a--',
    '',
  );
  const body = readBody(nested, 'mX');
  const types = (parts: typeof body.textBody) => parts.map(({ part }) => part.type);

  it('is sorted into text, HTML and attachments as RFC 8621 says', () => {
    expect(types(body.textBody)).toEqual(['text/plain']);
    expect(types(body.htmlBody)).toEqual(['text/html']);
    expect(types(body.attachments)).toEqual(['image/png', 'message/rfc822']);
  });

  it('has a structure whose leaves have a part and a blob', () => {
    const json = toBodyPartJson(
      body.structure,
      ['partId', 'blobId', 'type', 'subParts', 'size', 'cid', 'name'],
      new RequestBudget(10_000),
    );
    expect(json).toMatchObject({ type: 'multipart/mixed', partId: null, blobId: null, size: 0 });
    const [alternative, message] = json.subParts as Record<string, unknown>[];
    expect(message).toMatchObject({ type: 'message/rfc822', partId: '6', subParts: null, size: 28 });
    const [, related] = (alternative as { subParts: { subParts: object[] }[] }).subParts;
    expect(related?.subParts[1]).toEqual({
      partId: '5',
      blobId: 'mX-p5',
      type: 'image/png',
      subParts: null,
      size: 4,
      cid: 'p@x',
      name: 'p.png',
    });
  });

  it('has values that are decoded, and cut between characters', () => {
    const [text] = body.textBody;
    if (!text) throw new Error('there is a text');
    expect(readBodyValue(text, 0)).toEqual({ value: 'grün', isEncodingProblem: false, isTruncated: false });
    expect(readBodyValue(text, 3)).toEqual({ value: 'gr', isEncodingProblem: false, isTruncated: true });
    expect(truncate('a<b>c', 3, true)).toBe('a');
    expect(truncate('a<b>c', 4, true)).toBe('a<b>');
  });

  it('of one text serves as both forms; an inline image is shown in place', () => {
    const plain = readBody(open('Subject: x', '', 'text'), 'm');
    expect([types(plain.textBody), types(plain.htmlBody)]).toEqual([['text/plain'], ['text/plain']]);
    const mixed = readBody(
      open(
        'Content-Type: multipart/mixed; boundary=a',
        '',
        '--a',
        '',
        'one',
        '--a',
        'Content-Type: image/png',
        '',
        'x',
        '--a',
        '',
        'two',
        '--a--',
      ),
      'm',
    );
    expect(types(mixed.htmlBody)).toEqual(['text/plain', 'image/png', 'text/plain']);
    expect(types(mixed.attachments)).toEqual([]);
  });
});

describe('a new email', () => {
  const compose = async (object: Record<string, unknown>, blobs: Record<string, Uint8Array> = {}) => {
    const read = readNewEmail({ mailboxIds: { inbox: true }, ...object });
    if (!read.ok) return read.error;
    const composed = await composeEmail(read.value, {
      domain: 'x.test',
      now: Date.UTC(2026, 0, 2),
      openBlob: async (id) => {
        const bytes = blobs[id];
        return bytes ? { sizeBytes: bytes.length, type: 'application/pdf', read: async () => [bytes] } : null;
      },
    });
    if (!composed.ok) return composed.error;
    const { attachments, sizeBytes } = composed.value;
    const pieces: Uint8Array[] = [];
    const openAttachment = async (n: number) =>
      (async function* () {
        yield* (await attachments[n]?.read()) ?? [];
      })();
    for await (const piece of streamMessage(composed.value, openAttachment)) pieces.push(piece);
    const raw = Buffer.concat(pieces);
    expect(raw.length).toBe(sizeBytes);
    return raw.toString();
  };

  it('becomes a message with the fields that were given, and those that it needs', async () => {
    const raw = await compose({
      from: [{ name: 'Jürgen "J"', email: 'j@x.test' }],
      to: [
        { name: 'Ann, B', email: 'a@x.test' },
        { name: null, email: 'b@x.test' },
      ],
      subject: 'Grüße',
      inReplyTo: ['p@x'],
      'header:X-Own:asText': 'own',
      bodyStructure: { type: 'text/plain', partId: '1' },
      bodyValues: { 1: { value: 'Käse\r\nzwei' } },
    });
    expect(raw).toContain(`From: =?utf-8?B?${Buffer.from('Jürgen "J"').toString('base64')}?= <j@x.test>\r\n`);
    expect(raw).toContain('To: "Ann, B" <a@x.test>, b@x.test\r\n');
    expect(raw).toContain('In-Reply-To: <p@x>\r\n');
    expect(raw).toContain('X-Own: own\r\n');
    expect(raw).toContain('Date: Fri, 02 Jan 2026 00:00:00 +0000\r\n');
    expect(raw).toMatch(/Message-ID: <[0-9a-f-]{36}@x\.test>\r\n/);
    expect(raw).toMatch(/\r\n\r\nK=C3=A4se\r\nzwei\r\n$/);
    const twice = readHeaders(Buffer.from(raw as string)).headers.map(({ name }) => name);
    expect(new Set(twice).size).toBe(twice.length);
  });

  it('has the parts of its lists, with attachments and inline pictures in their places', async () => {
    const raw = (await compose(
      {
        textBody: [{ partId: 't', type: 'text/plain' }],
        htmlBody: [{ partId: 'h', type: 'text/html' }],
        attachments: [
          { blobId: 'p', type: 'image/png', cid: 'c@x', disposition: 'inline' },
          { blobId: 'f', name: 'Übersicht.pdf' },
        ],
        bodyValues: { t: { value: 'text' }, h: { value: '<img src="cid:c@x">' } },
      },
      { p: Buffer.from('picture'), f: Buffer.alloc(200, 1) },
    )) as string;
    const { structure, attachments } = readBody(openBytes(Buffer.from(raw)), 'm');
    const shape = (part: typeof structure): unknown => part.subParts?.map(shape) ?? part.part.type;
    expect(shape(structure)).toEqual([['text/plain', ['text/html', 'image/png']], 'application/pdf']);
    expect(attachments.map(({ part, size }) => [part.fileName, size])).toEqual([
      ['', 7],
      ['Übersicht.pdf', 200],
    ]);
  });

  it('is refused with the properties that are wrong', async () => {
    const value = { bodyStructure: { type: 'text/plain', partId: '1' }, bodyValues: { 1: { value: '' } } };
    const wrong: [object, string][] = [
      [{ mailboxIds: {} }, 'mailboxIds'],
      [{ ...value, textBody: [] }, 'bodyStructure'],
      [{ subject: 'a', 'header:Subject:asText': 'b' }, 'header:Subject:asText'],
      [{ 'header:Content-Type': 'text/plain' }, 'header:Content-Type'],
      [{ size: 5 }, 'size'],
      [{ textBody: [{ partId: '1', type: 'text/html' }] }, 'textBody'],
      [{ bodyStructure: { type: 'image/png', partId: '1' } }, 'bodyStructure/type'],
      [{ bodyStructure: { type: 'text/plain', partId: '1', charset: 'latin1' } }, 'bodyStructure/partId'],
      [
        { bodyStructure: { type: 'text/plain', partId: '1', 'header:Content-Transfer-Encoding': 'x' } },
        'bodyStructure/header:Content-Transfer-Encoding',
      ],
      [{ bodyValues: { 1: { value: '', isTruncated: true } } }, 'bodyValues'],
    ];
    for (const [object, property] of wrong)
      expect(await compose(object as Record<string, unknown>)).toMatchObject({
        type: 'invalidProperties',
        properties: expect.arrayContaining([property]),
      });
    expect(await compose({ attachments: [{ blobId: 'no' }] })).toEqual({ type: 'blobNotFound', notFound: ['no'] });
    expect(await compose({ bodyStructure: { type: 'text/plain', partId: '9' } })).toMatchObject({
      properties: ['bodyValues'],
    });
  });

  it('cannot smuggle a field in through a value', async () => {
    const raw = (await compose({
      subject: 'a\r\nBcc: x@x.test',
      from: [{ name: 'n\r\nX: y', email: 'a@x.test>\r\nY: z' }],
      'header:X-Raw': 'one\r\nTwo: three\r\n four',
    })) as string;
    const names = readHeaders(Buffer.from(raw)).headers.map(({ name }) => name);
    expect(names.filter((name) => ['bcc', 'x', 'y', 'two'].includes(name))).toEqual([]);
  });
});

describe('small parts', () => {
  it('fields fold at spaces, dates keep their zone, parameters are encoded', () => {
    expect(foldField('X', 'a'.repeat(40) + ' '.repeat(1) + 'b'.repeat(40))).toBe(
      `X: ${'a'.repeat(40)}\r\n ${'b'.repeat(40)}`,
    );
    expect(toDateValue('2014-10-30T14:12:00+08:00')).toBe('Thu, 30 Oct 2014 14:12:00 +0800');
    expect(toParameter('filename', 'a "b".txt')).toBe('; filename="a \\"b\\".txt"');
    expect(toParameter('filename', 'ü.txt')).toBe("; filename*=utf-8''%C3%BC.txt");
    expect(toAddressesValue([{ name: 'A=?b', email: 'a@x.test' }])).toMatch(/^=\?utf-8\?B\?/);
  });

  it('ids of blobs name a message or an upload, and parts of it', () => {
    const id = '3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21';
    expect(parseBlobId(toPartBlobId(toPartBlobId(`m${id}`, 3), 12))).toEqual({ kind: 'message', id, parts: [3, 12] });
    expect(parseBlobId(`u${id}`)).toEqual({ kind: 'upload', id, parts: [] });
    for (const bad of ['', id, `x${id}`, `m${id}-p`, `m${id}-p1x`]) expect(parseBlobId(bad)).toBeNull();
  });

  it('keywords are flags and labels, and every label has a keyword', () => {
    const { marks, bad } = toMarks(['$Seen', '$draft', 'work', '$answered']);
    expect([marks.isRead, marks.isDraft, marks.isAnswered, marks.labels, bad]).toEqual([
      true,
      true,
      true,
      ['$draft', 'work'],
      [],
    ]);
    expect(toMarks(['a b']).bad).toEqual(['a b']);
    const labels = ['work', 'Zu erledigen', 'ü', 'label-00'];
    const none = { isDraft: false, isRead: false, isFlagged: false, isAnswered: false, isForwarded: false };
    expect(Object.keys(toKeywords({ ...none, labels })).map(toLabel)).toEqual(labels);
  });

  it('a patch removes members by null and by false', () => {
    const call = { created: new Map() } as unknown as Call;
    const parts = readEmailPatch(call, { 'keywords/$seen': false, 'keywords/$flagged': null, 'mailboxIds/a': false });
    expect(parts).toMatchObject({
      ok: true,
      value: { marks: { isRead: false, isFlagged: false }, folders: { a: false }, replacesFolders: false },
    });
    expect(readEmailPatch(call, { keywords: { $seen: true, red: false, blue: true } })).toMatchObject({
      value: { marks: { isRead: true, isFlagged: false, labels: { blue: true }, replacesLabels: true } },
    });
    for (const bad of [{ 'keywords/$seen': 1 }, { keywords: { $seen: 'yes' } }, { keywords: null }])
      expect(readEmailPatch(call, bad).ok).toBe(false);
  });

  it('snippets mark the words of the query and escape the rest', () => {
    const words = toWords([
      { text: 'Foo', match: 'phrase' },
      { text: 'bär', match: 'phrase' },
    ]);
    expect(markSubject('a <b> foo & BÄR', words)).toBe('a &lt;b&gt; <mark>foo</mark> &amp; <mark>BÄR</mark>');
    expect(markSubject('nothing', words)).toBeNull();
    const preview = markPreview(`${'x '.repeat(500)}foo ${'<'.repeat(500)}`, words) ?? '';
    expect(preview).toContain('<mark>foo</mark>');
    expect(Buffer.byteLength(preview)).toBeLessThanOrEqual(255);
  });
});
