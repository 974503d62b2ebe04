/** Records the calls that the code makes to a namespace with a jurisdiction, because workerd has no jurisdictions. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openObject } from '../../../workers/shared/stores/object-namespace.ts';

const ROOT = join(import.meta.dirname, '../../..');

function makeNamespace(asked: string[], place = 'anywhere'): DurableObjectNamespace {
  return {
    jurisdiction: (name: string) => makeNamespace(asked, name),
    idFromName: (name: string) => `${place}:${name}`,
    get: (id: unknown) => void asked.push(String(id)),
  } as unknown as DurableObjectNamespace;
}

it('names objects in the jurisdiction of the deployment', () => {
  const asked: string[] = [];
  openObject({ JURISDICTION: 'eu' } as unknown as Env, makeNamespace(asked), 'ann');
  openObject({} as Env, makeNamespace(asked), 'ann');
  expect(asked).toEqual(['eu:ann', 'anywhere:ann']);
});

it('is the only way to an object', () => {
  const files = globSync('{workers,durable-objects}/**/*.ts', { cwd: ROOT });
  const direct = files.filter((file) =>
    /\b(?:idFromName|idFromString|newUniqueId|getByName)\(/.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  expect(direct).toEqual(['workers/shared/stores/object-namespace.ts']);
});
