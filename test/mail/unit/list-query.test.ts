import { describe, expect, it } from 'vitest';
import { readListId, toListQuery } from '../../../workers/mail/domain/list-query.ts';
import { readQuery } from '../../support/mail/search-query.ts';

describe('a mailing list', () => {
  it('is known by its List-Id, if there is one', () => {
    const read = (...values: string[]) => readListId(values.map((value) => ({ name: 'List-ID', value })));
    expect(read('Dogs & cats <Pets.Far.test>')).toBe('pets.far.test');
    expect(read('<a.test>')).toBe('a.test');
    for (const values of [[], ['pets.far.test'], ['<a"b.test>'], ['<a.test>', '<b.test>']])
      expect(read(...values), values.join()).toBeNull();
  });

  it('is found by a search for its List-Id, else for its sender, in every folder', () => {
    const find = (listId: string | null, sender: string | null) => {
      const query = toListQuery(listId, sender);
      return query === null ? null : readQuery(query);
    };
    const list = { kind: 'header', name: 'list-id', text: '<pets.far.test>' };
    const sender = { kind: 'text', place: 'from', text: 'news@far.test', match: 'phrase' };
    const inAny = (node: object) => ({ ok: true, value: node });
    expect(find('pets.far.test', 'news@far.test')).toMatchObject(inAny(list));
    expect(find(null, 'news@far.test')).toMatchObject(inAny(sender));
    expect(find(null, '"a b"@far.test')).toBeNull();
    expect(find(null, null)).toBeNull();
  });
});
