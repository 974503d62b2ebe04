/**
 * `S3TESTS_DIR=<checkout of ceph/s3-tests> npm run test:s3 [group…]`: runs the suite against a server of its own and prints
 * how many cases of each group pass. Exits with status 1 if a group has fewer than its minimum. The reasons for cases that do
 * not pass are in `test/storage/s3-suite/COVERAGE.md`.
 *
 * Needs a Python (`PYTHON`) with boto3, pytest, pytest-timeout, munch, isodate, pytz and requests. The minima are those of boto3 1.36
 * and later. An older one asks for no checksums by itself, so fewer cases can pass.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type TestServer } from '../../support/server.ts';

/** Names of the suite's cases without `test_`, by group and file. They were sorted at its commit 8f0ae7b of May 2026. */
const CASES = JSON.parse(readFileSync(join(import.meta.dirname, 'cases.json'), 'utf8')) as Record<
  string,
  Record<string, string[]>
>;
const MINIMA: Record<string, number> = { core: 371, lifecycle: 32, lock: 37, 'sse-s3': 15, 'sse-c': 42 };
/**
 * Minima for older boto3, counted with version 1.26 of Debian 12. `test/storage/s3-suite/COVERAGE.md` names the cases that fail inside
 * that client.
 */
const MINIMA_BEFORE_1_36: Record<string, number> = { ...MINIMA, core: 369 };
/** Number of cases per pytest process. A failed teardown affects only the remaining cases of its own process. */
const CHUNK = 40;
/** Length of a day of lifecycle rules in seconds. The suite reads it from its configuration too. */
const DAY_SECONDS = 10;

const suite = process.env.S3TESTS_DIR;
if (!suite) {
  console.error('Set S3TESTS_DIR to a checkout of ceph/s3-tests.');
  process.exit(2);
}
const python = process.env.PYTHON ?? '/usr/bin/python3';
const [version = '', minor] =
  /1\.(\d+)\.\d+/.exec(execFileSync(python, ['-c', 'import boto3; print(boto3.__version__)'], { encoding: 'utf8' })) ??
  [];
const isOld = Number(minor) < 36;
const groups = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(CASES);
const directory = mkdtempSync(join(tmpdir(), 'tessera-s3-suite-'));

async function writeConfiguration(server: TestServer): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const lines = [
    ...['[DEFAULT]', `host = ${hostname}`, `port = ${port}`, 'is_secure = False', 'ssl_verify = False'],
    ...['[fixtures]', 'bucket prefix = t-{random}-', 'iam name prefix = s3-tests-', 'iam path prefix = /s3-tests/'],
  ];
  const sections = ['s3 main', 's3 alt', 's3 tenant', 'iam', 'iam root', 'iam alt root'];
  for (const [index, section] of sections.entries()) {
    const name = section.replaceAll(' ', '-');
    const email = `${name}@suite.test`;
    const user = await server.call('POST', '/v1/iam/users', { name, email });
    const key = await server.call('POST', `/v1/iam/users/${user.body.user_id}/access-keys`, {});
    lines.push(
      ...[`[${section}]`, `display_name = ${name}`, `user_id = ${user.body.user_id}`, `email = ${email}`],
      ...[`access_key = ${key.body.access_key_id}`, `secret_key = ${key.body.secret_access_key}`],
      ...(index === 0 ? ['api_name = default', `lc_debug_interval = ${DAY_SECONDS}`] : []),
      ...(index === 2 ? ['tenant = testx'] : []),
    );
  }
  // Append the other sections of the sample configuration: the suite reads them, but these cases do not use them.
  const sample = readFileSync(join(String(suite), 's3tests.conf.SAMPLE'), 'utf8').split(/^(?=\[)/m);
  const others = sample.filter((part) => !lines.includes(part.split('\n')[0] ?? '') && part.startsWith('['));
  const path = join(directory, 's3tests.conf');
  writeFileSync(path, `${lines.join('\n')}\n${others.join('')}`);
  return path;
}

/** Runs cases with pytest. @returns the outcome of each case. */
function runCases(configuration: string, ids: readonly string[]): Map<string, string> {
  const report = join(directory, 'report.xml');
  rmSync(report, { force: true });
  const environment = {
    ...process.env,
    S3TEST_CONF: configuration,
    BOTO_DISABLE_CRT: 'true',
    // For an old boto3, AWS_DATA_PATH may add models with newer API members. A new boto3 must not read such models: they would
    // replace its own additions.
    ...(isOld ? {} : { AWS_DATA_PATH: '' }),
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  };
  const options = ['-q', '-p', 'no:cacheprovider', '--timeout=300', `--junitxml=${report}`];
  const pytest = spawnSync(python, ['-m', 'pytest', ...options, ...ids], {
    cwd: suite,
    env: environment,
    encoding: 'utf8',
  });
  const outcomes = new Map<string, string>();
  const xml = readFileSync(report, 'utf8');
  for (const [, name = '', rest = ''] of xml.matchAll(
    /<testcase [^>]*? name="([^"]*)"[^>]*?(\/>|>.*?<\/testcase>)/gs,
  )) {
    const fault = /<(failure|error|skipped)[ >]/.exec(rest)?.[1];
    const message = /message="([^"]{0,200})/.exec(rest)?.[1] ?? '';
    outcomes.set(name, fault === undefined ? 'passed' : `${fault}: ${message.replaceAll('\n', ' ')}`);
  }
  if (outcomes.size === 0) console.error(pytest.stdout.slice(-2000), pytest.stderr.slice(-2000));
  return outcomes;
}

/** Runs the cases of a group against a server of its own. @returns whether enough of them pass. */
async function runGroup(group: string): Promise<boolean> {
  // Short days make cron run each second, so only the group that needs them gets them.
  const vars = group === 'lifecycle' ? { LIFECYCLE_DAY_SECONDS: String(DAY_SECONDS) } : {};
  await using server = await startServer({ vars });
  const configuration = await writeConfiguration(server);
  const files = Object.entries(CASES[group] ?? {});
  const ids = files.flatMap(([file, names]) => names.map((name) => `s3tests/functional/${file}::test_${name}`));
  const failed: string[] = [];
  for (let at = 0; at < ids.length; at += CHUNK) {
    const chunk = ids.slice(at, at + CHUNK);
    const outcomes = runCases(configuration, chunk);
    for (const id of chunk) {
      const name = id.split('::')[1] ?? '';
      const outcome = outcomes.get(name) ?? 'not run';
      if (outcome !== 'passed') failed.push(`  ${name}: ${outcome}`);
    }
  }
  const passed = ids.length - failed.length;
  const minimum = (isOld ? MINIMA_BEFORE_1_36 : MINIMA)[group] ?? 0;
  const range = isOld ? 'before 1.36' : 'from 1.36 on';
  const expected = `at least ${minimum} expected with boto3 ${range} (here ${version})`;
  console.log([`${group}: ${passed} of ${ids.length} pass, ${expected}`, ...failed].join('\n'));
  return passed >= minimum;
}

let isEnough = true;
try {
  for (const group of groups) isEnough = (await runGroup(group)) && isEnough;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(isEnough ? 0 : 1);
