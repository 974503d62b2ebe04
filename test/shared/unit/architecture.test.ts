import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
/** Shared code that reads neither a clock nor a store. */
const PURE = 'workers/shared/pure/';
/** The files of the collectors that products may import. */
const COLLECTORS = ['limits', 'store', 'owner-store', 'orphan-rounds'].map(
  (name) => `workers/shared/collectors/${name}.ts`,
);
const WEB_CONTRACTS = ['web/shared/', 'workers/shared/web/web-config.ts'];

/** Packages that `domain/` folders may import: these compute only, and neither read a clock nor reach a store. */
const PURE_PACKAGES = ['node:buffer', 'node:crypto', 'node:zlib'];

/**
 * Imports that each folder may have besides its own. The longest folder name that matches counts. `domain/` folders import only
 * each other, `PURE`, `PURE_PACKAGES` and, on the side of the objects, the `protocol.ts` of their product. A path that ends in `/`
 * is a folder, any other is one file. Type imports count. A new folder needs an entry. A path without a file fails the test.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'workers/index.ts': ['workers/', 'durable-objects/', 'package.json'],
  'workers/environment.d.ts': [],
  'workers/shared/': ['package.json', 'migrations/directory/meta/', 'migrations/objects/meta/'],
  // The type of a manifest has what identity asks of a product.
  'workers/shared/product.ts': ['workers/shared/', 'workers/identity/index.ts'],
  'workers/identity/': ['workers/shared/'],
  'workers/storage/': ['workers/shared/', 'workers/identity/index.ts', ...COLLECTORS],
  'workers/leaderboard/': ['workers/shared/', 'workers/identity/index.ts', 'durable-objects/leaderboard/protocol.ts'],
  'workers/mail/': ['workers/shared/', 'workers/identity/index.ts', 'durable-objects/mail/contract/'],
  'durable-objects/leaderboard/': [
    'workers/shared/',
    'workers/leaderboard/domain/',
    'workers/leaderboard/objects.ts',
    'migrations/leaderboard-shard/',
  ],
  'durable-objects/leaderboard/season/': [
    'durable-objects/leaderboard/',
    'workers/shared/',
    'workers/leaderboard/domain/',
    'workers/leaderboard/objects.ts',
    'workers/leaderboard/records/',
  ],
  'durable-objects/leaderboard/shard/': [
    'durable-objects/leaderboard/',
    'workers/shared/',
    'workers/leaderboard/domain/',
    'workers/leaderboard/objects.ts',
    'workers/leaderboard/records/',
    'migrations/leaderboard-shard/',
  ],
  'durable-objects/mail/': ['workers/shared/', 'workers/mail/domain/', 'migrations/mailbox/'],
  'durable-objects/mail/contract/': ['workers/shared/pure/', 'workers/mail/domain/'],
  // The files directly in `web/` are the build and its measurements. They import nothing else.
  'web/': [],
  'web/shared/': ['workers/shared/web/web-config.ts', 'workers/shared/web/proof-of-work.ts'],
  'web/docs/': WEB_CONTRACTS,
  'web/not-found/': WEB_CONTRACTS,
  'web/turnstile/': WEB_CONTRACTS,
  'web/welcome/': WEB_CONTRACTS,
  'web/storage/': [...WEB_CONTRACTS, 'workers/identity/domain/policy.ts', 'workers/storage/domain/notifications.ts'],
  'web/leaderboard/': [
    ...WEB_CONTRACTS,
    'workers/leaderboard/contract.ts',
    'workers/leaderboard/domain/score-rules.ts',
    'workers/leaderboard/domain/season-name.ts',
  ],
  'web/operator/': [...WEB_CONTRACTS, 'workers/identity/principal.ts'],
  // The bridge is a client of the Worker: it shares no code with it.
  'bridge/': ['bridge/'],
  'bridge/session/': [],
  'web/mail/': [
    'workers/mail/domain/masked-name-form.ts',
    'workers/shared/web/passkey-json.ts',
    ...WEB_CONTRACTS,
    'workers/mail/schemas/',
    'workers/mail/checks/verdicts.ts',
    'workers/mail/domain/mbox-splitter.ts',
    'workers/mail/domain/html-rules.ts',
    'workers/mail/domain/inline-picture.ts',
    'workers/mail/domain/list-query.ts',
  ],
};
const IS_STORE = /(?:^|\/)(?:store\/[^/]+|(?:[^/]+-)?(?:store|schema))\.ts$/;
const SQL =
  /[`'"]\s*(?:SELECT\s|INSERT\s+(?:OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|REPLACE\s+INTO\s|CREATE\s+\w+\s|PRAGMA\s|WITH\s+\w+\s+AS\s)/;
/** The session of the bridge runs in Node and in workerd, so it imports no module of either. */
const IS_SESSION = /^bridge\/session\//;
const PLATFORM_MODULES = /^(?:node|cloudflare):/;
/** Packages that only some files may import, with patterns of these files. A pattern without such a file fails the test. */
const PACKAGES: readonly [name: RegExp, files: readonly RegExp[]][] = [
  [/^imapflow/, [/^bridge\/session\/command\.ts$/, /^workers\/mail\/inbound\/pull\//]],
  [/^(?:node:net|node:tls)$/, [/^bridge\/listeners\.ts$/]],
  [/^ws$/, [/^bridge\/node-network\.ts$/]],
  [/^drizzle-(?:orm|kit)/, [IS_STORE, /^workers\/shared\/stores\/(?:statement|insert-into)\.ts$/]],
  // The package of the base classes of Durable Objects and entrypoints.
  [
    /^cloudflare:workers$/,
    [
      /^durable-objects\/leaderboard\/\w+\/index\.ts$/,
      /^durable-objects\/mail\/calls\/mailbox-object\.ts$/,
      /^workers\/mail\/mailbox-jobs\.ts$/,
    ],
  ],
];

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '');
function importsOf(file: string, text: string): string[] {
  const found = withoutComments(text).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([\w@.][^'"\s]*)['"]/g);
  return [...found].map(([, path = '']) => (path.startsWith('.') ? normalize(join(dirname(file), path)) : path));
}

const productOf = (file: string): string => file.split('/')[1] ?? '';

/** Domain files of a Worker must not import what only the objects run. The other way is allowed. */
function isAllowedInDomain(file: string, imported: string): boolean {
  if (imported.startsWith(PURE)) return true;
  if (productOf(file) !== productOf(imported)) return false;
  if (imported === `durable-objects/${productOf(file)}/protocol.ts`) return true;
  const isSameSide = file.startsWith('durable-objects/') || imported.startsWith('workers/');
  return isSameSide && imported.includes('/domain/');
}

function isAllowed(file: string, imported: string): boolean {
  const rule = PACKAGES.find(([name]) => name.test(imported));
  if (rule) return rule[1].some((pattern) => pattern.test(file));
  if (IS_SESSION.test(file) && PLATFORM_MODULES.test(imported)) return false;
  const isOwn = /^(?:bridge|workers|durable-objects|web|migrations|dev|test|bench|package\.json)\b/.test(imported);
  if (!isOwn) return !file.includes('/domain/') || PURE_PACKAGES.includes(imported);
  if (file.includes('/domain/')) return isAllowedInDomain(file, imported);
  const folder =
    Object.keys(MAY_IMPORT)
      .filter((each) => file.startsWith(each))
      .sort((a, b) => b.length - a.length)[0] ?? '';
  const targets = [folder, ...(MAY_IMPORT[folder] ?? [])];
  return targets.some((target) => imported === target || (target.endsWith('/') && imported.startsWith(target)));
}
const badImportsOf = (file: string, text: string): string[] =>
  importsOf(file, text)
    .filter((imported) => !isAllowed(file, imported))
    .map((imported) => `${file} -> ${imported}`);
const hasStraySql = (file: string, text: string): boolean => !IS_STORE.test(file) && SQL.test(withoutComments(text));

/** Folders whose rooms (the folders and files directly in them) form layers: imports between rooms must have no cycle. */
const LAYERED = [
  'durable-objects/leaderboard/',
  'durable-objects/mail/',
  'workers/identity/',
  'workers/leaderboard/',
  'workers/mail/',
  'workers/mail/jmap/',
  'workers/shared/',
  'workers/storage/',
  'workers/storage/engine/',
  'workers/storage/s3/',
  'web/mail/',
];
const roomOf = (layered: string, file: string): string => layered + file.slice(layered.length).replace(/\/.*$/, '/');

/** Finds an import cycle. @returns its files, or an empty list. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next, [...path, file]);
      if (cycle.length > 0) return cycle;
    }
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const cycle = visit(file, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

const texts = new Map(
  globSync('{bridge,workers,durable-objects,web}/**/*.{ts,tsx}', { cwd: ROOT }).map((file) => [
    file,
    readFileSync(join(ROOT, file), 'utf8'),
  ]),
);

const lines = (...paths: string[]) => paths.map((path) => `import '${path}';`).join('\n');

describe('the architecture', () => {
  it('allows only the imports in the table', () => {
    const bad = [...texts].flatMap(([file, text]) => badImportsOf(file, text));
    expect([...new Set(bad)]).toEqual([]);
  });
  it('has no import cycle, type imports included', () => {
    const graph = [...texts].map(([file, text]): [string, string[]] => [file, importsOf(file, text)]);
    expect(findCycle(new Map(graph))).toEqual([]);
    expect(
      findCycle(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b']],
        ]),
      ),
    ).toEqual(['b', 'c', 'b']);
  });
  it('has no cycle of rooms in a layered folder', () => {
    for (const layered of LAYERED) {
      const rooms = new Map<string, string[]>();
      for (const [file, text] of texts) {
        if (!file.startsWith(layered)) continue;
        const room = roomOf(layered, file);
        const others = importsOf(file, text)
          .filter((imported) => imported.startsWith(layered))
          .map((imported) => roomOf(layered, imported))
          .filter((other) => other !== room);
        rooms.set(room, [...(rooms.get(room) ?? []), ...others]);
      }
      expect(rooms.size).toBeGreaterThan(1);
      expect(findCycle(rooms)).toEqual([]);
    }
  });
  it('names only folders and files that exist', () => {
    const named = [...Object.entries(MAY_IMPORT).flat(2), ...LAYERED, ...COLLECTORS, PURE];
    const absent = named.filter((path) => path !== '' && !existsSync(join(ROOT, path)));
    expect(absent).toEqual([]);
  });
  it('names only files of packages that import the package', () => {
    for (const [name, patterns] of PACKAGES) {
      const importers = [...texts].filter(([file, text]) => importsOf(file, text).some((each) => name.test(each)));
      const unused = patterns.filter((pattern) => !importers.some(([file]) => pattern.test(file)));
      expect(unused.map(String)).toEqual([]);
    }
  });
  it('keeps SQL in stores and schemas', () => {
    const stray = [...texts].filter(([file, text]) => hasStraySql(file, text)).map(([file]) => file);
    expect(stray).toEqual([]);
  });
  it('rejects a Worker that imports a store of its object, and a contract that imports one', () => {
    const mail = '../../durable-objects/mail';
    expect(
      badImportsOf('workers/mail/probe.ts', lines(`${mail}/contract/folders.ts`, `${mail}/messages/folder-store.ts`)),
    ).toEqual(['workers/mail/probe.ts -> durable-objects/mail/messages/folder-store.ts']);
    const leaderboard = '../../durable-objects/leaderboard';
    expect(
      badImportsOf(
        'workers/leaderboard/probe.ts',
        lines(`${leaderboard}/protocol.ts`, `${leaderboard}/shard/index.ts`),
      ),
    ).toEqual(['workers/leaderboard/probe.ts -> durable-objects/leaderboard/shard/index.ts']);
    const contract = 'durable-objects/mail/contract/probe.ts';
    expect(badImportsOf(contract, lines('./folders.ts', '../messages/schema.ts', '../domain/snippet.ts'))).toEqual([
      `${contract} -> durable-objects/mail/messages/schema.ts`,
      `${contract} -> durable-objects/mail/domain/snippet.ts`,
    ]);
  });
  it('rejects a Durable Object that imports a route and the tables of another product, and runs SQL', () => {
    const file = 'durable-objects/mail/probe.ts';
    const text = `
      import { createIdentityStore } from '../../workers/identity/store/store.ts';
      import type { addMe } from '../../workers/mail/routes/me.ts';
      export const probe = (sql: SqlStorage): unknown => sql.exec('SELECT user_id FROM mailbox').toArray();`;
    expect(badImportsOf(file, text)).toEqual([
      `${file} -> workers/identity/store/store.ts`,
      `${file} -> workers/mail/routes/me.ts`,
    ]);
    expect(badImportsOf('workers/mail/domain/probe.ts', lines('node:crypto', 'node:fs', 'drizzle-orm'))).toEqual([
      'workers/mail/domain/probe.ts -> node:fs',
      'workers/mail/domain/probe.ts -> drizzle-orm',
    ]);
    expect(
      badImportsOf('workers/leaderboard/probe.ts', lines('../mail/product.ts', 'cloudflare:workers')),
    ).toHaveLength(2);
    expect([hasStraySql(file, text), hasStraySql('durable-objects/mail/probe-store.ts', text)]).toEqual([true, false]);
  });
});
