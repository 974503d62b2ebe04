/** The guide of object storage lists the condition keys that policies may name. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  ALWAYS_ABSENT,
  isDocumentedKey,
  NOT_READ,
  WITH_VALUES,
} from '../../../workers/identity/domain/condition-keys.ts';

it('the guide lists exactly the keys of each kind', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/object-storage.md'), 'utf8');
  const section = /## Condition keys of policies\n(.*?)\n## /s.exec(guide)?.[1] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  const keys = rows.map((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, key]) => key));
  expect(keys).toEqual([WITH_VALUES, ALWAYS_ABSENT, NOT_READ]);
  expect(
    ['aws:sourcelp', 's3:prefix/', 's3:existingobjecttag', 's3:existingobjecttag/'].filter(isDocumentedKey),
  ).toEqual([]);
});
