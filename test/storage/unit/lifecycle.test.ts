/** Tests lifecycle rules: how their document is read, and what they decide. */
import { describe, expect, it } from 'vitest';
import {
  DAY_MS,
  decideVersion,
  dueAfter,
  findAbort,
  findExpiry,
  type LifecycleRule,
  type LifecycleSubject,
} from '../../../workers/storage/domain/lifecycle.ts';
import { parseLifecycle, toLifecycleElements } from '../../../workers/storage/s3/documents/lifecycle-document.ts';
import { xmlDocument } from '../../../workers/storage/s3/protocol/xml.ts';

let ids = 0;
const parse = (rules: string) =>
  parseLifecycle(`<LifecycleConfiguration>${rules}</LifecycleConfiguration>`, () => `minted-${ids++}`);
const rule = (inner: string) => `<Rule><Status>Enabled</Status>${inner}</Rule>`;
const DAYS = '<Expiration><Days>3</Days></Expiration>';
const ALL = '<Filter/>';

function rulesOf(...inner: string[]): readonly LifecycleRule[] {
  const parsed = parse(inner.map(rule).join(''));
  if (!parsed.ok) throw new Error(`${parsed.error.code}: ${parsed.error.message}`);
  return parsed.value;
}
const codeOf = (rules: string): string => {
  const parsed = parse(rules);
  return parsed.ok ? 'accepted' : parsed.error.code;
};

describe('a lifecycle configuration', () => {
  it.each([
    ['no rule', ''],
    ['no status', `<Rule>${ALL}${DAYS}</Rule>`],
    ['a status in lower case', `<Rule><Status>enabled</Status>${ALL}${DAYS}</Rule>`],
    ['neither prefix nor filter', rule(DAYS)],
    ['prefix and filter', rule(`<Prefix>a</Prefix>${ALL}${DAYS}`)],
    [
      'two conditions without And',
      rule(`<Filter><Prefix>a</Prefix><Tag><Key>k</Key><Value>v</Value></Tag></Filter>${DAYS}`),
    ],
    ['And with one condition', rule(`<Filter><And><Prefix>a</Prefix></And></Filter>${DAYS}`)],
    ['days and a date', rule(`${ALL}<Expiration><Days>1</Days><Date>2030-01-01</Date></Expiration>`)],
    ['an empty expiration', rule(`${ALL}<Expiration/>`)],
    ['a date that is none', rule(`${ALL}<Expiration><Date>20300101</Date></Expiration>`)],
    ['a size that is none', rule(`<Filter><ObjectSizeLessThan>big</ObjectSizeLessThan></Filter>${DAYS}`)],
    ['1,001 rules', rule(`${ALL}${DAYS}`).repeat(1_001)],
  ])('with %s is malformed', (_, rules) => {
    expect(codeOf(rules)).toBe('MalformedXML');
  });

  it.each([
    ['a long id', `<Rule><ID>${'a'.repeat(256)}</ID><Status>Enabled</Status>${ALL}${DAYS}</Rule>`],
    ['the same id twice', `<Rule><ID>a</ID><Status>Enabled</Status>${ALL}${DAYS}</Rule>`.repeat(2)],
    ['no days', rule(`${ALL}<Expiration><Days>0</Days></Expiration>`)],
    ['negative days', rule(`${ALL}<Expiration><Days>-1</Days></Expiration>`)],
    ['a date in the afternoon', rule(`${ALL}<Expiration><Date>2030-01-01T15:00:00Z</Date></Expiration>`)],
    [
      'no noncurrent days',
      rule(`${ALL}<NoncurrentVersionExpiration><NoncurrentDays>0</NoncurrentDays></NoncurrentVersionExpiration>`),
    ],
    [
      '101 newer versions',
      rule(
        `${ALL}<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>101</NewerNoncurrentVersions></NoncurrentVersionExpiration>`,
      ),
    ],
    ['no days after initiation', rule(`${ALL}<AbortIncompleteMultipartUpload/>`)],
  ])('with %s has an invalid argument', (_, rules) => {
    expect(codeOf(rules)).toBe('InvalidArgument');
  });

  it('may keep up to 100 newer versions', () => {
    const newer = '<NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>100</NewerNoncurrentVersions>';
    expect(codeOf(rule(`${ALL}<NoncurrentVersionExpiration>${newer}</NoncurrentVersionExpiration>`))).toBe('accepted');
  });

  const TAG = '<Tag><Key>k</Key><Value>v</Value></Tag>';
  it.each([
    ['no action', rule(ALL)],
    ['both forms of rules', rule(`<Prefix>a</Prefix>${DAYS}`) + rule(`${ALL}${DAYS}`)],
    ['a long prefix', rule(`<Filter><Prefix>${'a'.repeat(1_025)}</Prefix></Filter>${DAYS}`)],
    ['a tag twice', rule(`<Filter><And>${TAG}${TAG}</And></Filter>${DAYS}`)],
    [
      'sizes that exclude each other',
      rule(
        `<Filter><And><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan><ObjectSizeLessThan>5</ObjectSizeLessThan></And></Filter>${DAYS}`,
      ),
    ],
    [
      'an abort by tag',
      rule(
        `<Filter>${TAG}</Filter><AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>`,
      ),
    ],
    [
      'markers by size',
      rule(
        `<Filter><ObjectSizeLessThan>5</ObjectSizeLessThan></Filter><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>`,
      ),
    ],
    [
      'newer versions in the old form',
      rule(
        '<Prefix/><NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>',
      ),
    ],
  ])('with %s is refused', (_, rules) => {
    expect(codeOf(rules)).toBe('InvalidRequest');
  });

  it('with a transition is not implemented', () => {
    const transition = '<Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>';
    expect(codeOf(rule(`${ALL}${transition}${DAYS}`))).toBe('NotImplemented');
  });

  it('is returned as it was set, and a rule without an id gets one', () => {
    const rules = [
      '<ID>a b</ID><Filter><And><Prefix>p/</Prefix><Tag><Key>k</Key><Value>v</Value></Tag><ObjectSizeGreaterThan>0</ObjectSizeGreaterThan><ObjectSizeLessThan>9</ObjectSizeLessThan></And></Filter><Status>Disabled</Status><Expiration><Days>3</Days></Expiration>',
      '<ID>b</ID><Filter/><Status>Enabled</Status><Expiration><Date>2030-01-01T00:00:00.000Z</Date></Expiration><NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration><AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>',
      '<ID>c</ID><Filter><Prefix>q</Prefix></Filter><Status>Enabled</Status><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>',
    ];
    const document = (list: string) => `<LifecycleConfiguration>${list}</LifecycleConfiguration>`;
    const xml = document(rules.map((inner) => `<Rule>${inner}</Rule>`).join(''));
    const parsed = parseLifecycle(xml, () => 'none');
    if (!parsed.ok) throw new Error(parsed.error.message);
    const written = xmlDocument(
      'LifecycleConfiguration',
      toLifecycleElements({ rules: parsed.value, minimumSize: '' }),
    );
    expect(written.replace(/^.*\n<LifecycleConfiguration[^>]*>/, '<LifecycleConfiguration>')).toBe(xml);
    expect(rulesOf(`<Prefix/>${DAYS}`)[0]?.id).toMatch(/^minted-/);
  });
});

describe('a lifecycle rule', () => {
  const NOW = Date.UTC(2026, 10, 22, 12);
  const subject = (more: Partial<LifecycleSubject> = {}): LifecycleSubject => ({
    name: 'a/b',
    size: 10,
    tags: null,
    isMarker: false,
    modifiedAt: NOW - 10 * DAY_MS,
    noncurrentSince: null,
    newerNoncurrent: 0,
    isAlone: true,
    ...more,
  });
  const kindOf = (rules: readonly LifecycleRule[], more: Partial<LifecycleSubject> = {}) =>
    decideVersion(rules, subject(more), NOW, DAY_MS)?.kind ?? null;

  it('expires a current version at the midnight after its days', () => {
    const rules = rulesOf(`${ALL}<Expiration><Days>1</Days></Expiration>`);
    const midnight = Date.UTC(2026, 10, 22);
    expect(kindOf(rules, { modifiedAt: midnight - DAY_MS })).toBe('current');
    expect(kindOf(rules, { modifiedAt: midnight - DAY_MS + 1 })).toBeNull();
    expect(dueAfter(midnight - DAY_MS + 1, 1, DAY_MS)).toBe(midnight + DAY_MS);
    expect(decideVersion(rules, subject({ modifiedAt: NOW - 10_000 }), NOW, 10_000)?.kind).toBe('current');
  });

  it('selects by prefix, tags and sizes, which must all hold', () => {
    const rules = rulesOf(
      `<Filter><And><Prefix>a/</Prefix><Tag><Key>k</Key><Value>v</Value></Tag><ObjectSizeGreaterThan>9</ObjectSizeGreaterThan>
       <ObjectSizeLessThan>11</ObjectSizeLessThan></And></Filter>${DAYS}`,
    );
    const tags = { k: 'v', other: 'x' };
    expect(kindOf(rules, { tags })).toBe('current');
    for (const more of [{ name: 'b/a' }, { tags: { k: 'w' } }, { tags: null }, { size: 9 }, { size: 11 }]) {
      expect([more, kindOf(rules, { tags, ...more })]).toEqual([more, null]);
    }
    expect(
      kindOf(rulesOf(`<Filter><Tag><Key>constructor</Key><Value>v</Value></Tag></Filter>${DAYS}`), { tags }),
    ).toBeNull();
  });

  it('removes a delete marker only if it is the only version, and not by tags or size', () => {
    const rules = rulesOf(`${ALL}<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>`);
    expect(kindOf(rules)).toBeNull();
    expect(kindOf(rules, { isMarker: true })).toBe('alone');
    expect(kindOf(rules, { isMarker: true, isAlone: false })).toBeNull();
    expect(kindOf(rulesOf(`${ALL}${DAYS}`), { isMarker: true })).toBe('alone');
    const small = '<Filter><ObjectSizeLessThan>5</ObjectSizeLessThan></Filter>';
    expect(kindOf(rulesOf(`${small}${DAYS}`), { isMarker: true })).toBeNull();
  });

  it('removes noncurrent versions by the time since they were replaced, and keeps the newest of them', () => {
    const [days, newer] = [
      '<NoncurrentDays>2</NoncurrentDays>',
      '<NewerNoncurrentVersions>1</NewerNoncurrentVersions>',
    ];
    const rules = rulesOf(`${ALL}<NoncurrentVersionExpiration>${days}${newer}</NoncurrentVersionExpiration>`);
    const noncurrentSince = NOW - 3 * DAY_MS;
    expect(kindOf(rules)).toBeNull();
    expect(kindOf(rules, { noncurrentSince, newerNoncurrent: 1 })).toBe('noncurrent');
    expect(kindOf(rules, { noncurrentSince })).toBeNull();
    expect(kindOf(rules, { noncurrentSince: NOW - DAY_MS, newerNoncurrent: 1 })).toBeNull();
  });

  it('removes a noncurrent version at the midnight after its days, whatever else its rules say', () => {
    const of = (days: number) =>
      `<NoncurrentVersionExpiration><NoncurrentDays>${days}</NoncurrentDays></NoncurrentVersionExpiration>`;
    const midnight = Date.UTC(2026, 10, 22);
    const at = (noncurrentSince: number) =>
      decideVersion(rulesOf(`${ALL}${DAYS}`, `${ALL}${of(2)}`), subject({ noncurrentSince }), NOW, DAY_MS);
    const since = midnight - 2 * DAY_MS;
    expect(at(since)).toEqual({ kind: 'noncurrent', hasTags: false, since, newerVersions: 0 });
    expect(at(since + 1)).toBeNull();
    const tagged = rulesOf(
      `<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>${of(1)}`,
      `<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>${DAYS}`,
    );
    const tags = { k: 'v' };
    expect(decideVersion(tagged, subject({ tags, noncurrentSince: since }), NOW, DAY_MS)?.hasTags).toBe(true);
    expect(decideVersion(tagged, subject({ tags }), NOW, DAY_MS)).toEqual({ kind: 'current', hasTags: true });
    expect(decideVersion(rulesOf(`${ALL}${DAYS}`), subject(), NOW, DAY_MS)).toEqual({
      kind: 'current',
      hasTags: false,
    });
  });

  it('keeps as many newer noncurrent versions as it says, and counts shortened days from now', () => {
    const rules = rulesOf(
      `${ALL}<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>3</NewerNoncurrentVersions></NoncurrentVersionExpiration>`,
    );
    const decide = (newerNoncurrent: number, noncurrentSince: number) =>
      decideVersion(rules, subject({ newerNoncurrent, noncurrentSince }), NOW, 10_000);
    expect([decide(2, 0), decide(3, NOW - 9_999)]).toEqual([null, null]);
    expect(decide(3, NOW - 10_000)).toEqual({
      ...{ kind: 'noncurrent', hasTags: false, since: NOW - 10_000, newerVersions: 3 },
    });
  });

  it.each([
    ['<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>'],
    ['<Filter><ObjectSizeLessThan>5</ObjectSizeLessThan></Filter>'],
    ['<Filter><ObjectSizeGreaterThan>0</ObjectSizeGreaterThan></Filter>'],
  ])('with the filter %s selects no delete marker', (filter) => {
    expect(kindOf(rulesOf(`${filter}${DAYS}`), { isMarker: true })).toBeNull();
    expect(kindOf(rulesOf(`<Filter><Prefix>a/</Prefix></Filter>${DAYS}`), { isMarker: true })).toBe('alone');
    expect(kindOf(rulesOf(`<Filter><Prefix>b/</Prefix></Filter>${DAYS}`), { isMarker: true })).toBeNull();
  });

  it('keeps delete markers if it says so', () => {
    const rules = rulesOf(
      `${ALL}<Expiration><ExpiredObjectDeleteMarker>false</ExpiredObjectDeleteMarker></Expiration>`,
    );
    expect(kindOf(rules, { isMarker: true })).toBeNull();
  });

  it('expires an object at the very moment of its date', () => {
    const rules = rulesOf(`${ALL}<Expiration><Date>2026-11-22</Date></Expiration>`);
    const at = Date.UTC(2026, 10, 22);
    expect(decideVersion(rules, subject(), at, DAY_MS)?.kind).toBe('current');
    expect(decideVersion(rules, subject(), at - 1, DAY_MS)).toBeNull();
  });

  it('does nothing while it is disabled, or before its date', () => {
    const disabled = parse(`<Rule><Status>Disabled</Status>${ALL}${DAYS}</Rule>`);
    expect(disabled.ok && kindOf(disabled.value)).toBeNull();
    const at = (date: string) => kindOf(rulesOf(`${ALL}<Expiration><Date>${date}</Date></Expiration>`));
    expect([at('2026-11-22T00:00:00Z'), at('2026-11-23')]).toEqual(['current', null]);
  });

  it('announces the first expiry and the first abort', () => {
    const abort =
      '<AbortIncompleteMultipartUpload><DaysAfterInitiation>5</DaysAfterInitiation></AbortIncompleteMultipartUpload>';
    const rules = rulesOf(`<ID>a</ID>${ALL}${DAYS}${abort}`, `<ID>b</ID>${ALL}<Expiration><Days>1</Days></Expiration>`);
    const object = subject({ modifiedAt: NOW });
    expect(findExpiry(rules, object)).toEqual({ id: 'b', atMs: Date.UTC(2026, 10, 24) });
    expect(findAbort(rules, 'x', NOW, DAY_MS)).toEqual({ id: 'a', atMs: Date.UTC(2026, 10, 28) });
    expect(findExpiry(rulesOf(`<Filter><Prefix>z</Prefix></Filter>${DAYS}`), object)).toBeNull();
    expect(findAbort(rules, 'x', NOW, 10_000)).toEqual({ id: 'a', atMs: NOW + 50_000 });
    // If several rules are due at the same time, the first one must be named.
    const twice = rulesOf(`<ID>first</ID>${ALL}${DAYS}${abort}`, `<ID>second</ID>${ALL}${DAYS}${abort}`);
    expect([findExpiry(twice, object)?.id, findAbort(twice, 'x', NOW, DAY_MS)?.id]).toEqual(['first', 'first']);
    const sooner = rulesOf(`<ID>a</ID>${ALL}${abort}`, `<ID>b</ID>${ALL}${abort.replace('5', '4')}`);
    expect(findAbort(sooner, 'x', NOW, DAY_MS)?.id).toBe('b');
    expect(findExpiry(sooner, object)).toBeNull();
    const dated = rulesOf(
      `<ID>c</ID>${ALL}<Expiration><Date>2026-11-23</Date></Expiration>`,
      `<ID>d</ID>${ALL}${DAYS}`,
    );
    expect(findExpiry(dated, object)).toEqual({ id: 'c', atMs: Date.UTC(2026, 10, 23) });
    const markers = rulesOf(
      `${ALL}<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>`,
    );
    expect(findExpiry(markers, object)).toBeNull();
    expect(findAbort(markers, 'x', NOW, DAY_MS)).toBeNull();
    const elsewhere = rulesOf(`<Filter><Prefix>z</Prefix></Filter>${abort}`);
    expect([findAbort(elsewhere, 'x', NOW, DAY_MS), findAbort(elsewhere, 'zz', NOW, DAY_MS)?.atMs]).toEqual([
      ...[null, Date.UTC(2026, 10, 28)],
    ]);
    const disabled = rules.map((each) => ({ ...each, isEnabled: false }));
    expect([findExpiry(disabled, object), findAbort(disabled, 'x', NOW, DAY_MS)]).toEqual([null, null]);
  });
});
