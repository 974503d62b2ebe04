import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, it } from 'vitest';
import { createStackReader } from '../../../dev/local/original-stack.ts';

it('says the file and the line of the source for a position in a minified script', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-stack-'));
  try {
    const source = join(folder, 'late-payment.ts');
    writeFileSync(source, '/** A comment. */\nexport function failLate(): never {\n  throw new Error("late");\n}\n');
    const outfile = join(folder, 'index.js');
    buildSync({ entryPoints: [source], outfile, bundle: true, minify: true, sourcemap: true, format: 'esm' });
    const column = readFileSync(outfile, 'utf8').indexOf('new Error') + 1;
    const read = createStackReader(folder)(
      `Error: late\n    at a (file:///x/index.js:1:${column})\n    at b (other.js:1:1)`,
    );
    expect(read).toMatch(/^Error: late\n {4}at a \(\S*late-payment\.ts:3:9\)\n {4}at b \(other\.js:1:1\)$/);
    expect(createStackReader(join(folder, 'absent'))('no position')).toBe('no position');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
