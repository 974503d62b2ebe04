/**
 * `node dev/generate/hash-modules.ts` writes the WebAssembly modules of `workers/storage/domain/hashes/` from an npm package, which it
 * downloads with `npm pack`. The package is not a dependency: it compiles its modules while it runs, which Workers do not allow.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = 'hash-wasm@4.13.0';
const SCRIPT_SHA256 = 'f3e4fde16c83c8e70ca77f208ebb0885c6658ce2574f51eae3a49e93d3c3ffd8';
const NAMES = ['crc64', 'xxhash64', 'xxhash3', 'xxhash128'];
const TARGET = join(import.meta.dirname, '../../workers/storage/domain/hashes');

const folder = mkdtempSync(join(tmpdir(), 'hash-modules-'));
try {
  const packed = execFileSync('npm', ['pack', PACKAGE, '--silent'], { cwd: folder, encoding: 'utf8' });
  execFileSync('tar', ['-xzf', packed.split('\n')[0] ?? ''], { cwd: folder });
  const script = readFileSync(join(folder, 'package/dist/index.esm.js'), 'utf8');
  const sha256 = createHash('sha256').update(script).digest('hex');
  if (sha256 !== SCRIPT_SHA256) throw new Error(`${PACKAGE} has another script: SHA-256 ${sha256}`);
  mkdirSync(TARGET, { recursive: true });
  for (const name of NAMES) {
    const data = new RegExp(`var name\\S* = "${name}";\\s*var data\\S* = "([^"]*)"`).exec(script)?.[1];
    if (data === undefined) throw new Error(`${PACKAGE} has no module ${name}`);
    writeFileSync(join(TARGET, `${name}.wasm`), Buffer.from(data, 'base64'));
  }
  copyFileSync(join(folder, 'package/LICENSE'), join(TARGET, 'LICENSE'));
} finally {
  rmSync(folder, { recursive: true });
}
