/** Checks the metrics and the alert rules with promtool of Debian, which is unpacked but not installed. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tessera-promtool-'));
let server: TestServer;
beforeAll(async () => {
  execFileSync('apt-get', ['download', '-qq', 'prometheus'], { cwd: scratch, stdio: ['ignore', 'pipe', 'inherit'] });
  execFileSync('dpkg-deb', ['-x', globSync('prometheus_*.deb', { cwd: scratch })[0] ?? '', 'files'], { cwd: scratch });
  server = await startServer();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
});

const promtool = (args: string[], input = ''): string =>
  execFileSync(join(scratch, 'files/usr/bin/promtool'), args, { cwd: scratch, input, encoding: 'utf8' });

async function scrape(accept: string): Promise<string> {
  const headers = { accept, authorization: `Bearer ${server.rootToken}` };
  return (await fetch(`${server.url}/v1/metrics`, { headers })).text();
}

it('exposes metrics that promtool accepts, without a remark', async () => {
  await server.call('GET', '/v1/scores');
  await server.call('GET', '/v1/no-such-route');
  expect(promtool(['check', 'metrics'], await scrape('text/plain'))).toBe('');
});

it('exposes OpenMetrics that Prometheus can store', async () => {
  const text = await scrape('application/openmetrics-text');
  const seconds = Math.floor(Date.now() / 1000);
  // Add a time to each sample: promtool's importer needs it, and an exposition leaves it to the scraper.
  writeFileSync(join(scratch, 'metrics.txt'), text.replace(/^(?!#)(.+)$/gm, `$1 ${seconds}`));
  promtool(['tsdb', 'create-blocks-from', 'openmetrics', 'metrics.txt', 'blocks']);
  // Create the directory of a write-ahead log, which the command opens. Blocks alone have none.
  mkdirSync(join(scratch, 'blocks/wal'));
  const stored = promtool(['tsdb', 'dump', 'blocks']);
  expect(stored).toContain('__name__="tessera_operations_total"');
  expect(stored).toContain('__name__="tessera_database_bytes", database="DIRECTORY"');
});

it('documents alert rules that name only metrics that exist', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
  const rules = /```yaml\n(groups:\n[\s\S]*?)```/.exec(page)?.[1] ?? '';
  writeFileSync(join(scratch, 'rules.yml'), rules);
  const count = rules.split('- alert:').length - 1;
  expect(promtool(['check', 'rules', 'rules.yml'])).toContain(`SUCCESS: ${count} rules found`);
  const text = await scrape('text/plain');
  // Compare by TYPE lines, because error counters have a sample only after the first error.
  const known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  const used = new Set([...rules.matchAll(/\btessera_\w+/g)].map(([name]) => name));
  // The samples of a histogram have an end that its TYPE line lacks.
  const isKnown = (name: string) => known.has(name) || known.has(name.replace(/_bucket$/, ''));
  expect([...used].filter((name) => !isKnown(name))).toEqual([]);
});
