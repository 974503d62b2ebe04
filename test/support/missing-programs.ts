/** Programs that tests did not find. `npm test` names each once at its end. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';

/** Package of Debian that brings a program, if it has another name. */
const PACKAGES: Readonly<Record<string, string>> = {
  aws: 'awscli',
  chromium: 'chromium-headless-shell chromium',
  clamd: 'clamav-daemon',
  dovecot: 'dovecot-imapd',
  python3: 'python3-boto3',
};

/**
 * Reports that a test file skips tests because these programs are missing.
 * @throws in CI, because CI installs every program.
 */
export function reportMissing(...programs: string[]): void {
  if (programs.length === 0) return;
  if (process.env.CI === 'true') throw new Error(`CI lacks ${programs.join(', ')}`);
  const path = process.env.TESSERA_TEST_MISSING;
  if (!path) return;
  const file = relative(process.cwd(), testFile());
  for (const program of programs) appendFileSync(path, `${JSON.stringify([basename(program), file])}\n`);
}

/** Path of the test file that runs in this process. `npm test` reads the reports outside Vitest, where there is no `expect`. */
function testFile(): string {
  const { __vitest_worker__: worker } = globalThis as { __vitest_worker__?: { filepath?: string } };
  return worker?.filepath ?? 'another file';
}

/** @returns a line for each missing program: what was skipped, and how to install it. */
export function describeMissing(path: string): string[] {
  if (!existsSync(path)) return [];
  const files = new Map<string, Set<string>>();
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const [program, file] = JSON.parse(line) as [string, string];
    files.set(program, (files.get(program) ?? new Set()).add(file));
  }
  return [...files]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([program, skipping]) => {
      const list = [...skipping].sort().map((file) => file.replace(/^test\/|\.test\.ts$/g, ''));
      const names =
        list.length > 4 ? `${list.slice(0, 4).join(', ')} and ${list.length - 4} more files` : list.join(', ');
      return `${program} is missing (apt-get install ${PACKAGES[program] ?? program}). Skipped tests of ${names}.`;
    });
}
