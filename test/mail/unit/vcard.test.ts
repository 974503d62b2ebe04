/** Tests reading and changing vCards, and the bodies of CardDAV's requests. */
import { describe, expect, it } from 'vitest';
import { parsePlace, toCardPath } from '../../../workers/mail/carddav/places.ts';
import { parseSyncToken, toSyncToken } from '../../../workers/mail/carddav/properties.ts';
import { parsePropfind, parseReport } from '../../../workers/mail/carddav/requests.ts';
import { meetsFilter } from '../../../workers/mail/domain/card-filter.ts';
import { changeVcard, readVcard, writeVcard } from '../../../workers/mail/domain/vcard.ts';
import { makeCard } from '../../support/mail/card-text.ts';

const facts = (text: string) => {
  const read = readVcard(text);
  if (!read.ok) throw new Error(read.error);
  return read.value;
};

describe('vCards', () => {
  it('reads names, addresses and notes of both versions', () => {
    expect(facts(makeCard('u', 'Zoe@Far.test', ['EMAIL:zoe@far.test', 'NOTE:one\\, two\\nthree']))).toEqual({
      uid: 'u',
      name: 'Zoë Ångström',
      emails: ['zoe@far.test'],
      note: 'one, two\nthree',
    });
    const newer = 'BEGIN:VCARD\nVERSION:4.0\nUID:urn:uuid:1\nFN:\nN:Berg;Bea;;;\nEMAIL:mailto:b@far.test\nEND:VCARD';
    expect(facts(newer)).toEqual({ uid: 'urn:uuid:1', name: 'Bea Berg', emails: ['b@far.test'], note: '' });
  });
  it('refuses what is no card', () => {
    const bad = [
      '',
      'BEGIN:VCARD',
      makeCard('u', 'a@b.test').repeat(2),
      makeCard('', 'a@b.test'),
      makeCard('u', 'a@b.test', ['UID:second']),
      makeCard('u', 'a@b.test', ['NOTE:\u0000']),
      makeCard('u', 'a@b.test').replace('VERSION:3.0', 'VERSION:5.0'),
      `x\r\n${makeCard('u', 'a@b.test')}`,
    ];
    expect(bad.map((text) => readVcard(text).ok)).toEqual(bad.map(() => false));
  });
  it('changes only the lines that a change names', () => {
    const card = makeCard('u', 'zoe@far.test', ['EMAIL:second@far.test', 'PHOTO;ENCODING=b:AAAA\r\n BBBB']);
    const changed = changeVcard(card, {
      name: 'Zoë B. Holm',
      note: 'Likes; commas, and\nlines',
      email: { from: 'zoe@far.test', to: 'zoe@new.test' },
    });
    expect(facts(changed)).toMatchObject({ name: 'Zoë B. Holm', emails: ['zoe@new.test', 'second@far.test'] });
    expect(facts(changed).note).toBe('Likes; commas, and\nlines');
    const lines = new Set(changed.split('\r\n'));
    const kept = card.split('\r\n').filter((line) => lines.has(line));
    expect(card.split('\r\n').filter((line) => !kept.includes(line))).toEqual([
      'FN:Zoë Ångström',
      'N:Ångström;Zoë;;;',
      'item1.EMAIL;TYPE=home:zoe@far.test',
    ]);
    expect(changed).toContain('N:Holm;Zoë B.;;;');
    const removed = changeVcard(card, { email: { from: 'zoe@far.test', to: null } });
    expect([removed.includes('item1'), facts(removed).emails]).toEqual([false, ['second@far.test']]);
    expect(changeVcard(card, {})).toBe(card);
  });
  it('writes cards that it reads, and folds long lines between characters', () => {
    const contact = { name: 'Ö'.repeat(100), email: 'long@far.test', note: 'a;b\\c\n'.repeat(50) };
    const card = writeVcard('id', contact);
    expect(facts(card)).toEqual({ uid: 'id', name: contact.name, emails: ['long@far.test'], note: contact.note });
    for (const line of card.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
    expect(facts(writeVcard('id', { name: '', email: 'a@b.test', note: '' })).name).toBe('');
  });
});

describe('requests of CardDAV', () => {
  it('reads places, and refuses tricks with paths', () => {
    expect(parsePlace(toCardPath('me', 'a b/c'))).toBeNull();
    expect(parsePlace(`https://far.test${toCardPath('me', 'ä%.vcf')}`)).toEqual({
      kind: 'card',
      accountId: 'me',
      name: 'ä%.vcf',
    });
    const kinds = ['', 'me', 'me/', 'me/books/', 'me/books/contacts/'].map((path) => parsePlace(`/v1/carddav/${path}`));
    expect(kinds.map((place) => place?.kind)).toEqual(['root', 'principal', 'principal', 'home', 'book']);
    const bad = [
      'me//books/',
      'me/books/contacts/..',
      'me/books/contacts/%2e%2e',
      'me/books/contacts/a/b',
      'me/books/x',
    ];
    for (const path of [...bad, 'me/%', 'me/books/contacts/%00']) expect(parsePlace(`/v1/carddav/${path}`)).toBeNull();
  });
  it('keeps namespaces of unknown properties, and bounds what a body may ask for', () => {
    expect(
      parsePropfind('<a:propfind xmlns:a="DAV:"><a:prop><x xmlns="urn:x"/><a:getetag/></a:prop></a:propfind>'),
    ).toEqual([
      { namespace: 'urn:x', name: 'x' },
      { namespace: 'DAV:', name: 'getetag' },
    ]);
    const many = Array.from({ length: 50 }, (_, n) => `<p${n}/>`).join('');
    expect(parsePropfind(`<propfind xmlns="DAV:"><prop>${many}</prop></propfind>`)).toBeNull();
    expect(parsePropfind('<propfind xmlns="urn:x"/>')).toBeNull();
    expect(parseReport('<d:expand-property xmlns:d="DAV:"/>')).toEqual({ ok: false, error: 'unknown_report' });
  });
  it('writes tokens that it reads', () => {
    for (const place of [
      { state: 7, name: '' },
      { state: 8, name: 'ü (1).vcf' },
    ])
      expect(parseSyncToken(toSyncToken(place))).toEqual(place);
    expect(['urn:x:1', 'urn:tessera:contacts:-1', 'urn:tessera:contacts:1:%'].map(parseSyncToken)).toEqual([
      null,
      null,
      null,
    ]);
  });
  it('tests cards against filters', () => {
    const filter = (inner: string, test = 'anyof') => {
      const body = `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><c:filter test="${test}">${inner}</c:filter></c:addressbook-query>`;
      const report = parseReport(body);
      if (!report.ok || report.value.kind !== 'query') throw new Error(report.ok ? 'no query' : report.error);
      return meetsFilter(makeCard('u', 'zoe@far.test'), report.value.filter);
    };
    const match = (text: string, attributes = '') => `<c:text-match ${attributes}>${text}</c:text-match>`;
    const property = (name: string, inner: string) => `<c:prop-filter name="${name}">${inner}</c:prop-filter>`;
    const absent = '<c:is-not-defined/>';
    const type = (value: string) =>
      `<c:param-filter name="TYPE">${match(value, 'match-type="equals"')}</c:param-filter>`;
    const cases: [string, boolean][] = [
      ['', true],
      [property('EMAIL', match('ZOE')), true],
      [property('EMAIL', match('ZOE', 'collation="i;octet"')), false],
      [property('EMAIL', match('far.test', 'match-type="ends-with"')), true],
      [property('EMAIL', match('zoe', 'negate-condition="yes"')), false],
      [property('NICKNAME', absent), true],
      [property('TEL', absent), false],
      [property('EMAIL', type('home')), true],
      [property('EMAIL', type('work')), false],
      [property('NOTE', ''), false],
    ];
    expect(cases.map(([inner]) => filter(inner))).toEqual(cases.map(([, isMet]) => isMet));
    expect(filter(property('FN', match('zoë')) + property('NOTE', ''), 'allof')).toBe(false);
  });
});
