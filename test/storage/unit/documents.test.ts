import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPostPolicy, parsePostPolicy } from '../../../workers/storage/domain/post-policy.ts';
import { openForm } from '../../../workers/storage/s3/bodies/form-body.ts';
import { element, xmlDocument } from '../../../workers/storage/s3/protocol/xml.ts';
import { childrenOf, parseXml, parseXmlList, textOf } from '../../../workers/storage/s3/protocol/xml-parser.ts';

describe('XML', () => {
  it('parses back to the written text, for every text that XML can contain', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !/[\r\ufffe\uffff]/.test(value));
    fc.assert(
      fc.property(text, (value) => {
        const parsed = parseXml(xmlDocument('Root', element('Key', value)), 'Root');
        expect(parsed.ok && textOf(parsed.value, 'Key')).toBe(value);
      }),
    );
  });
  it('keeps whitespace, references, CDATA and order', () => {
    const parsed = parseXml('<a><k> x&#13;&amp; </k><k><![CDATA[<&>]]></k></a>', 'a');
    expect(parsed.ok && childrenOf(parsed.value, 'k').map(({ text }) => text)).toEqual([' x\r& ', '<&>']);
  });
  it.each([
    '<a>',
    '<a></b>',
    'text',
    '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    '<b/>',
    `${'<a>'.repeat(40)}${'</a>'.repeat(40)}`,
  ])('is refused as %s', (text) => {
    expect(parseXml(text, 'a')).toMatchObject({ ok: false, error: { code: 'MalformedXML' } });
  });
});

describe('XML that multiplies', () => {
  const malformed = { ok: false, error: { code: 'MalformedXML' } };
  it.each([
    ['elements', `<a>${'<b/>'.repeat(2_000_000)}</a>`],
    ['attributes', `<a ${Array.from({ length: 300_000 }, (_, n) => `b${n}="1"`).join(' ')}/>`],
    ['attributes without blanks', `<a ${Array.from({ length: 300_000 }, (_, n) => `b${n}='"'`).join('')}/>`],
    ['levels', `${'<a>'.repeat(500_000)}${'</a>'.repeat(500_000)}`],
    ['levels without end', '<a>'.repeat(2_000_000)],
    ['beginnings of tags', '<a '.repeat(2_000_000)],
    ['comments', `<a>${'<!---->'.repeat(1_000_000)}</a>`],
    ['instructions', `<a>${'<?b?>'.repeat(1_000_000)}</a>`],
  ])('is refused before it is parsed: %s', (_, text) => {
    expect(parseXml(text, 'a')).toMatchObject(malformed);
  });

  const list = { rootName: 'L', itemName: 'I', itemsMax: 1_000 };
  const items = (count: number, body = (n: number) => `<K>${n}${'k&amp;'.repeat(15)}</K>`) =>
    Array.from({ length: count }, (_, n) => `<I>${body(n)}</I>\n`).join('');

  it.each([1, 199, 200, 201, 400, 1_000])(
    'is parsed in slices to what one parse gives: a list of %i items',
    async (count) => {
      const text = `<?xml version="1.0"?>\n<L xmlns="x"><Quiet>true</Quiet>${items(count)}<After>1</After></L>`;
      const [sliced, whole] = [await parseXmlList(text, list), parseXml(text, 'L')];
      if (!sliced.ok || !whole.ok) throw new Error('not parsed');
      expect(childrenOf(sliced.value, 'I')).toEqual(childrenOf(whole.value, 'I'));
      for (const name of ['Quiet', 'After']) expect(textOf(sliced.value, name)).toBe(textOf(whole.value, name));
    },
  );
  it('is refused as a whole if one item is malformed, and with too many items or elements', async () => {
    for (const text of [
      `<L>${items(600)}<I><K></I>${items(10)}</L>`,
      `<L>${items(600)}</I>${items(10)}</L>`,
      `<L>${items(600)}`,
      `${items(600)}</L>`,
      `<L>${items(1_001)}</L>`,
      `<L>${items(900, () => '<K/>'.repeat(40))}</L>`,
      `<L>${items(900)}<I>${'k'.repeat(70_000)}</I></L>`,
      `<L>${'k'.repeat(70_000)}${items(900)}</L>`,
      `<L>${items(900)}${'&amp;'.repeat(14_000)}</L>`,
      `<L><!-- c -->${items(900)}</L>`,
    ])
      expect([text.length, await parseXmlList(text, list)]).toMatchObject([text.length, malformed]);
  });
  it('keeps items with comments and prefixes', async () => {
    const commented = await parseXmlList(`<L>${items(50, () => '<!-- </I> --><K>1</K>')}</L>`, list);
    expect(commented.ok && childrenOf(commented.value, 'I')).toHaveLength(50);
    const prefixed = `<s:L xmlns:s="x">${items(500).replaceAll(/<(\/?)/g, '<$1s:')}</s:L>`;
    const parsed = await parseXmlList(prefixed, list);
    expect(parsed.ok && childrenOf(parsed.value, 'I').map((item) => textOf(item, 'K'))).toHaveLength(500);
  });
});

describe('a form', () => {
  const body = (...parts: string[]) => `${parts.map((part) => `--XX\r\n${part}\r\n`).join('')}--XX--\r\n`;
  const field = (name: string, value: string) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`;
  const file = (value: string) =>
    `Content-Disposition: form-data; name="file"; filename="a \\"b.txt"\r\nContent-Type: text/plain\r\n\r\n${value}`;
  const open = (text: string, cut: number) => {
    const bytes = Buffer.from(text, 'latin1');
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < bytes.length; i += cut) controller.enqueue(bytes.subarray(i, i + cut));
        controller.close();
      },
    });
    return openForm('multipart/form-data; boundary=XX', stream);
  };
  const read = async (text: string, cut: number) => {
    const form = await open(text, cut);
    if (!form.ok) return form.error.code;
    const content = Buffer.from(await new Response(form.value.file).arrayBuffer()).toString('latin1');
    return { fields: Object.fromEntries(form.value.fields), fileName: form.value.fileName, content };
  };
  it('returns its fields and file for any chunks, with line ends and near-boundaries inside', async () => {
    const content = '\r\n--X\r\n-\r\n--\r\nX';
    const text = body(field('Key', 'k'), field('acl', 'private'), file(content), field('after', 'ignored'));
    for (const cut of [1, 2, 3, 7, 1000]) {
      expect(await read(text, cut)).toEqual({
        fields: { key: 'k', acl: 'private' },
        fileName: 'a \\"b.txt',
        content,
      });
    }
  });
  it('is refused without a file, without an end, and with too much data before the file', async () => {
    expect(await read(body(field('key', 'k')), 9)).toBe('IncorrectNumberOfFilesInPostRequest');
    expect(await read('--XX\r\nContent-Disp', 9)).toBe('MalformedPOSTRequest');
    expect(await read(body(field('a', 'x'.repeat(15_000)), field('b', 'x'.repeat(15_000)), file('')), 4096)).toBe(
      'MaxPostPreDataLengthExceededError',
    );
  });
  it('breaks off if the file has no end', async () => {
    await expect(read(`--XX\r\n${file('half')}`, 9)).rejects.toThrow('IncompleteBody');
  });
});

describe('a policy of a form', () => {
  const NOW = Date.parse('2026-01-01T00:00:00Z');
  const check = (conditions: unknown[], fields: Record<string, string>, expiration = '2026-01-01T00:00:01Z') => {
    const policy = parsePostPolicy(Buffer.from(JSON.stringify({ expiration, conditions })).toString('base64'));
    if (!policy.ok) return policy.error.code;
    const result = checkPostPolicy(policy.value, new Map(Object.entries(fields)), NOW);
    return result.ok ? result.value : result.error.code;
  };
  const FIELDS = { bucket: 'b', key: 'user/1' };
  const RULES = [{ bucket: 'b' }, ['starts-with', '$key', 'user/']];
  it('allows the fields that it names and no others', () => {
    expect(check([...RULES, ['content-length-range', 1, 9]], FIELDS)).toEqual({ minBytes: 1, maxBytes: 9 });
    expect(check(RULES, { ...FIELDS, key: 'other' })).toBe('AccessDenied');
    expect(check(RULES, { ...FIELDS, acl: 'public-read' })).toBe('AccessDenied');
    expect(check(RULES, { ...FIELDS, 'x-ignore-me': '1', 'x-amz-signature': 's', policy: 'p' })).not.toBe(
      'AccessDenied',
    );
    expect(check([{ bucket: 'other' }, ['starts-with', '$key', '']], FIELDS)).toBe('AccessDenied');
    expect(
      check(
        [
          ['eq', '$Bucket', 'b'],
          ['eq', '$KEY', 'user/1'],
        ],
        FIELDS,
      ),
    ).not.toBe('AccessDenied');
    expect(check([['starts-with', '$key', '']], FIELDS)).toBe('AccessDenied');
  });
  it('expires', () => {
    expect(check(RULES, FIELDS, '2026-01-01T00:00:00Z')).toBe('AccessDenied');
  });
  it.each([
    [[['between', '$key', 'a']]],
    [[{ a: '1', b: '2' }]],
    [[['content-length-range', -1, 5]]],
    [[['eq', 'key', 'a']]],
    ['none'],
  ])('is refused as %j', (conditions) => {
    expect(check(conditions as unknown[], FIELDS)).toBe('InvalidPolicyDocument');
  });
});
