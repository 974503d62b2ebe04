/**
 * Tests that `npm run sbom` lists exactly the packages of package-lock.json, and that docs/dependencies.md reviews each production
 * dependency.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toSbom } from '../../../dev/generate/sbom.ts';

const ROOT = join(import.meta.dirname, '../../..');
const readJson = <T>(file: string): T => JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as T;

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string }>>;
}
interface Sbom {
  readonly bomFormat: string;
  readonly serialNumber?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  }[];
}

const lock = readJson<Lock>('package-lock.json');
const sbom = JSON.parse(toSbom()) as Sbom;

it('has the name, version and hash of every package', () => {
  const locked = Object.entries(lock.packages).flatMap(([path, { version, integrity }]) => {
    const hash = Buffer.from(integrity?.split('-')[1] ?? '', 'base64').toString('hex');
    return path === '' ? [] : [`${path.slice(path.lastIndexOf('node_modules/') + 13)} ${version} ${hash}`];
  });
  const listed = sbom.components.map(({ name, version, hashes }) => `${name} ${version} ${hashes?.[0]?.content ?? ''}`);
  expect(locked.length).toBeGreaterThan(100);
  expect([...new Set(listed)].sort()).toEqual([...new Set(locked)].sort());
});

it('is CycloneDX without members that change by themselves', () => {
  expect([sbom.bomFormat, sbom.serialNumber]).toEqual(['CycloneDX', undefined]);
  expect(Object.keys(sbom.metadata)).not.toContain('timestamp');
});

it('every production dependency is reviewed at its version', () => {
  const { dependencies } = readJson<{ dependencies: Record<string, string> }>('package.json');
  const page = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8');
  const reviewed = [...page.matchAll(/^\| `([^`]+)` (\S+) \|/gm)].map(([, name, version]) => `${name} ${version}`);
  expect(reviewed.sort()).toEqual(
    Object.entries(dependencies)
      .map((entry) => entry.join(' '))
      .sort(),
  );
});
