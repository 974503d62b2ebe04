/** Tests the numbers of shards and user databases: what an option may ask for, and what a deployment has. */
import { describe, expect, it } from 'vitest';
import {
  countDatabases,
  type DatabaseKind,
  DIRECTORY_TOTALS,
  listDatabases,
} from '../../../dev/deploy/numbered-databases.ts';
import { parseOptions } from '../../../dev/deploy/options.ts';
import { planDeployment, type WorkerConfig } from '../../../dev/deploy/plan.ts';
import { readRawConfig } from '../../../dev/local/worker-options.ts';
import { SET_SIZES } from '../../../workers/shared/stores/bindings.ts';

const config = (await readRawConfig()) as unknown as WorkerConfig;

function plan(databases: Record<DatabaseKind, number>, variables: Record<string, string> = {}) {
  const regions = { homeRegion: 'weur', secondRegion: '', thirdRegion: '' } as const;
  const about = { environment: 'staging', accountId: 'a'.repeat(32), existingLocations: 2, rateLimits: {} };
  return planDeployment(config, { ...about, ...regions, databases, variables });
}

describe('the plan of a deployment', () => {
  it('has five user databases in the region of DIRECTORY, with its migrations', () => {
    const { databases, config } = plan({ OBJECTS: 2, DIRECTORY: 5 });
    expect(databases).toEqual(
      [
        ['DIRECTORY', 'directory'],
        ['OBJECTS_0', 'objects-0'],
        ['OBJECTS_1', 'objects-1'],
        ['DIRECTORY_1', 'directory-1'],
        ['DIRECTORY_2', 'directory-2'],
        ['DIRECTORY_3', 'directory-3'],
        ['DIRECTORY_4', 'directory-4'],
      ].map(([binding, name]) => ({ binding, name: `tessera-staging-${name}`, region: 'weur' })),
    );
    for (const { binding, migrations_dir } of config.d1_databases)
      expect(migrations_dir).toBe(`migrations/${binding.startsWith('DIRECTORY') ? 'directory' : 'objects'}`);
  });

  it('gives none of them a region in a jurisdiction', () => {
    const { databases } = plan({ OBJECTS: 1, DIRECTORY: 5 }, { JURISDICTION: 'eu' });
    expect(databases.map(({ region }) => region)).toEqual(Array(6).fill(undefined));
  });
});

describe('the number of databases that a deployment has', () => {
  const count = (kind: DatabaseKind, ...names: string[]) => countDatabases(kind, names, 'staging');

  it('follows from the highest number among the names of the environment', () => {
    expect(count('DIRECTORY')).toBe(1);
    expect(count('OBJECTS')).toBe(1);
    expect(count('DIRECTORY', 'tessera-staging-directory')).toBe(1);
    expect(count('OBJECTS', 'tessera-staging-objects-0', 'tessera-staging-objects-6')).toBe(7);
    expect(count('OBJECTS', 'tessera-objects-6', 'tessera-staging-objects-copy')).toBe(1);
    expect(count('DIRECTORY', 'tessera-directory-4', 'tessera-staging-directory-2026')).toBe(1);
    expect(countDatabases('DIRECTORY', ['tessera-directory-4', 'tessera-staging-directory-20'], '')).toBe(5);
  });

  it.each([
    [1, 5],
    [4, 5],
    [5, 21],
    [20, 21],
    [21, 85],
    [84, 85],
  ])('completes the group of the user database %i, whose creation may have been interrupted', (n, total) => {
    expect(count('DIRECTORY', 'tessera-staging-directory', `tessera-staging-directory-${n}`)).toBe(total);
  });
});

it('DIRECTORY is number 0 of the user databases, and OBJECTS_0 of those for objects', () => {
  expect(listDatabases('DIRECTORY', 2)).toEqual([
    { binding: 'DIRECTORY', name: 'tessera-directory' },
    { binding: 'DIRECTORY_1', name: 'tessera-directory-1' },
  ]);
  expect(listDatabases('OBJECTS', 1)).toEqual([{ binding: 'OBJECTS_0', name: 'tessera-objects-0' }]);
});

it('the user databases come in the groups that the Worker knows', () => {
  const totals = SET_SIZES.map((_, at) => SET_SIZES.slice(0, at + 1).reduce((sum, size) => sum + size, 0));
  expect(totals.map(String)).toEqual([...DIRECTORY_TOTALS]);
});

describe('the options', () => {
  it.each(['1', '5', '21', '85'])('accept --directories %s', (total) => {
    const parsed = parseOptions(['--directories', total, '--shards', '2'], {});
    expect(parsed).toMatchObject({ databases: { OBJECTS: 2, DIRECTORY: Number(total) } });
  });

  it.each(['0', '2', '3', '4', '6', '20', '84', '86', '05', '5.0', '-5', '', 'five'])(
    'refuse --directories=%s',
    (total) => {
      expect(parseOptions([`--directories=${total}`], {})).toBe('--directories must be 1, 5, 21 or 85.');
    },
  );

  it.each(['0', '65', '1e1', '01'])('refuse --shards=%s', (total) => {
    expect(parseOptions([`--shards=${total}`], {})).toBe('--shards must be a whole number from 1 to 64.');
  });

  it('keep the present numbers without --shards and --directories', () => {
    expect(parseOptions([], {})).toMatchObject({ databases: {} });
    expect(parseOptions([], { npm_config_directories: '5' })).toContain('npm run deploy -- --directories');
  });
});
