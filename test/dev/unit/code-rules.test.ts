import { describe, expect, it } from 'vitest';
import { compare, RULES, readChecked, violationsOf } from '../../../dev/rules/rules.ts';

/** Lists what breaks a rule in a file with this text. */
function violationsIn(name: string, file: string, text: string): Record<string, number> {
  const rule = RULES.find((each) => each.name === name);
  if (!rule) throw new Error(`No rule has the name ${name}.`);
  return Object.fromEntries(violationsOf(rule, [readChecked(file, text)]));
}
const linesOf = (count: number, line = 'run();'): string => Array(count).fill(line).join('\n');

describe('the rules of CONTRIBUTING', () => {
  it('limit functions to 70 lines of code, without blank lines and comments', () => {
    const functionOf = (body: string) => `const api = { load: () => {\n${body}\n} };`;
    expect(violationsIn('long_functions', 'web/a.ts', functionOf(linesOf(68)))).toEqual({});
    expect(violationsIn('long_functions', 'web/a.ts', functionOf(linesOf(69)))).toEqual({ 'web/a.ts: api > load': 71 });
    const padded = `${linesOf(68)}\n\n// why\n/* two\n\nlines */`;
    expect(violationsIn('long_functions', 'web/a.ts', functionOf(padded))).toEqual({});
  });

  it('count a test, but not the suite that groups tests', () => {
    const text = `describe.each([1])('a store', () => {\nit('stores', () => {\n${linesOf(80)}\n});\n});`;
    expect(violationsIn('long_functions', 'test/a.test.ts', text)).toEqual({
      "test/a.test.ts: describe 'a store' > it 'stores'": 82,
    });
  });

  it('limit functions to four positional parameters, and tell two functions of a name apart', () => {
    const five = 'a: 1, b: 1, c: 1, d: 1, e: 1';
    const text = `
      function four(this: Window, a: 1, b: 1, c: 1, ...d: 1[]) {}
      function over(a: 1): void;
      function over(${five}): void;
      function over(${five}) {}
      class Store { put(${five}) {} constructor(${five}) {} }
      list.map((${five}) => a); list.map((${five}) => b);
      type Call = (${five}) => void;`;
    expect(violationsIn('many_parameters', 'dev/a.ts', text)).toEqual({
      'dev/a.ts: over': 5,
      'dev/a.ts: Store > put': 5,
      'dev/a.ts: Store > constructor': 5,
      'dev/a.ts: map': 5,
      'dev/a.ts: map #2': 5,
    });
  });

  it('limit files, tests and style sheets', () => {
    expect(violationsIn('long_files', 'workers/a.ts', `${linesOf(330)}\n\n`)).toEqual({});
    expect(violationsIn('long_files', 'workers/a.ts', linesOf(331))).toEqual({ 'workers/a.ts': 331 });
    expect(violationsIn('long_files', 'web/a.css', linesOf(331, 'a {}'))).toEqual({ 'web/a.css': 331 });
    expect(violationsIn('long_files', 'test/a.test.ts', linesOf(500))).toEqual({});
    expect(violationsIn('long_files', 'test/a.test.ts', linesOf(501))).toEqual({ 'test/a.test.ts': 501 });
  });

  it('find SQL without names of columns outside tests', () => {
    const text = `
      const a = 'SELECT * FROM t';
      const b = \`SELECT t.id,
        u.* FROM t\`;
      const c = db.prepare(\`DELETE FROM t RETURNING *\`);
      const d = 'SELECT count(*), a * b, (SELECT 1) FROM t'; // SELECT * FROM t
      const e = \`SELECT \${columns} FROM (select distinct v.* FROM v)\`;`;
    expect(Object.keys(violationsIn('select_stars', 'workers/a.ts', text))).toEqual([
      'workers/a.ts: a',
      'workers/a.ts: b',
      'workers/a.ts: c > prepare',
      'workers/a.ts: e',
    ]);
    expect(violationsIn('select_stars', 'test/a.ts', text)).toEqual({});
  });

  it('find state of a module in the Worker and its objects', () => {
    const text = `
      let last = 0;
      export const cache = new Map<string, string>();
      const caches = { users: new WeakMap() };
      const queue: string[] = [];
      const gate = new Gate();
      const counts = { hits: 0 };
      const memory = createIsolateMemory();
      const names = new Set(['a']);
      class Pool { static open = new Set(); }
      export const count = () => { counts.hits++; names.add('b'); };
      const RULES = new Set(['a']);
      const NONE: ReadonlyMap<string, string> = new Map();
      const table = new Uint8Array(256);
      for (const at of [1, 2]) table[at] = at;
      const make = () => new Map();
      const pattern = new RegExp('a');`;
    const names = ['last', 'cache', 'caches', 'queue', 'gate', 'counts', 'memory', 'names', 'open'];
    const found = Object.keys(violationsIn('module_state', 'durable-objects/a.ts', text));
    expect(found).toEqual(names.map((name) => `durable-objects/a.ts: ${name}`));
    expect(violationsIn('module_state', 'web/a.ts', text)).toEqual({});
  });

  it('find exported functions that assign to members of parameters', () => {
    const text = `
      export function hold(bucket) { bucket.proof.state = 'held'; }
      export const add = ({ counts }, name) => { counts[name]++; };
      export const clear = async (call) => { delete call.home; [call.at, call.to] = [1, 2]; };
      export const later = (report) => () => { report!.seen += 1; };
      const hidden = (call) => { call.isAdmitted = true; };
      const listed = (call) => { call.isAdmitted = true; };
      export { listed };
      export function fine(list, call) {
        list.push(1);
        const own = { n: 0 };
        own.n++;
        call = { ...call, n: 1 };
        return list.map((own) => ((call) => call)(own));
      }
      export const hides = (call) => [1].map((call) => { call.n = 1; });
      export class Waiter { #waits = 0; wait() { this.#waits++; } }`;
    const found = ['hold', 'add', 'clear', 'later', 'listed'].map((name, i) => [`web/a.ts: ${name}`, i === 2 ? 3 : 1]);
    expect(violationsIn('parameter_writes', 'web/a.ts', text)).toEqual(Object.fromEntries(found));
  });

  it('reject new and larger violations and stale entries, and shrink the list without adding to it', () => {
    const found = new Map(Object.entries({ fell: 80, grew: 90, fresh: 75 }));
    const { added, stale, shrunk } = compare(found, { fell: 85, grew: 88, gone: 99 });
    expect([...added.keys()]).toEqual(['grew', 'fresh']);
    expect(stale).toEqual(['gone']);
    expect(shrunk).toEqual({ fell: 80, grew: 88 });
  });
});
