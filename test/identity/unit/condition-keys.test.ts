/** Tests that the guide of object storage lists the condition keys that policies may name. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  ALWAYS_ABSENT,
  isDocumentedKey,
  isReadKey,
  NOT_READ,
  WITH_VALUES,
} from '../../../workers/identity/domain/condition-keys.ts';

it('the guide lists exactly the keys of each kind', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/storage.md'), 'utf8');
  const section = /## Condition keys of policies\n(.*?)\n## /s.exec(guide)?.[1] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  const keys = rows.map((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, key]) => key));
  expect(keys).toEqual([WITH_VALUES, ALWAYS_ABSENT, NOT_READ]);
  expect(
    ['aws:sourcelp', 's3:prefix/', 's3:existingobjecttag', 's3:existingobjecttag/'].filter(isDocumentedKey),
  ).toEqual([]);
});

it('the key of a tag follows a slash, and may contain slashes', () => {
  const keys = [
    's3:existingobjecttag/a',
    's3:existingobjecttag/a/b\n',
    'aws:principaltag/x',
    's3:prefix',
    's3:prefix/a',
  ];
  expect(keys.map(isReadKey)).toEqual([true, true, true, true, false]);
  expect(keys.map(isDocumentedKey)).toEqual([true, true, true, true, false]);
});

it('the absence of a key that is not read means nothing', () => {
  for (const key of NOT_READ.map((each) => (each.endsWith('/') ? `${each}x` : each)))
    expect([key, isDocumentedKey(key), isReadKey(key)]).toEqual([key, true, false]);
});
