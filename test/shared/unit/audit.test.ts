import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AUDIT_ACTIONS, readNetwork } from '../../../workers/shared/audit/audit.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FILES = globSync('{workers,durable-objects}/**/*.ts', { cwd: ROOT });
const readText = (file: string) => readFileSync(join(ROOT, file), 'utf8');

it.each([
  ['203.0.113.77', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', '203.0.113.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8:0::/48'],
  ['', null],
  ['not an address', null],
])('an entry holds the network of %s, without the host: %s', (address, network) => {
  expect(readNetwork(new Headers({ 'cf-connecting-ip': address }))).toBe(network);
});

it('only one store uses the table, and deletes or changes rows only to expire them or to erase a person', () => {
  const users = FILES.filter((file) => /\bauditEntry\b|\baudit_entry\b/.test(readText(file)));
  expect(users.sort()).toEqual(['workers/shared/audit/audit-schema.ts', 'workers/shared/audit/audit-store.ts']);
  const store = readText('workers/shared/audit/audit-store.ts');
  const changes = [...store.matchAll(/\.(delete|update)\(auditEntry\)/g)].map(([, verb]) => verb);
  expect(changes).toEqual(['update', 'update', 'delete', 'update']);
});

it('every action of the list is recorded somewhere', () => {
  const texts = FILES.filter((file) => file !== 'workers/shared/audit/audit.ts').map(readText);
  texts.push(readText('workers/shared/audit/audit.ts').split('function toAuditRow')[1] ?? '');
  expect(AUDIT_ACTIONS.filter((action) => !texts.some((text) => text.includes(`'${action}'`)))).toEqual([]);
  expect([...AUDIT_ACTIONS].sort()).toEqual(AUDIT_ACTIONS);
});
