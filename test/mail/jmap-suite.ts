/**
 * `npm run test:jmap -- PATH`: runs a checkout of jmapio/jmap-test-suite against a server of its own, and prints its count and every case
 * that did not pass. The suite has no licence, so it is not part of this repository.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { basic } from '../support/mail/jmap.ts';
import { confirmSession, registerUser } from '../support/mail/mail.ts';
import { startServer } from '../support/server.ts';

interface Report {
  readonly results: readonly {
    readonly testId: string;
    readonly status: 'pass' | 'fail' | 'skip';
    readonly error?: string;
    readonly skipReason?: string;
  }[];
}

const checkout = process.argv[2] ?? '';
if (!existsSync(join(checkout, 'package.json'))) {
  console.error('Name the folder of a checkout of https://github.com/jmapio/jmap-test-suite.');
  process.exit(2);
}
const run = (command: string, args: string[]) => spawnSync(command, args, { cwd: checkout, encoding: 'utf8' });
if (!existsSync(join(checkout, 'dist/cli.js'))) {
  run('npm', ['install']);
  run('npm', ['run', 'build']);
}

await using server = await startServer({ withoutRules: true, vars: { MAIL_HOLD_SECONDS: '3' } });
const makeUser = async (name: string) => {
  const { email, token } = await registerUser(server, name);
  await confirmSession(server, token);
  const { body } = await server.call('POST', '/v1/me/tokens', { name: 'suite' }, token);
  return { username: email, password: body.token as string };
};
const users = { primary: await makeUser('primary'), secondary: await makeUser('secondary') };
const session = await fetch(`${server.url}/.well-known/jmap`, {
  headers: { authorization: basic(users.primary.username, users.primary.password) },
});
if (!session.ok) throw new Error(`the server answered ${session.status}`);
const [config, report] = [join(server.directory, 'suite.json'), join(server.directory, 'report.json')];
writeFileSync(config, JSON.stringify({ sessionUrl: `${server.url}/.well-known/jmap`, users, authMethod: 'basic' }));
const { stderr } = run(process.execPath, ['dist/cli.js', '-c', config, '-f', '-o', report]);
if (!existsSync(report)) throw new Error(stderr.slice(-2_000));
const { results } = JSON.parse(readFileSync(report, 'utf8')) as Report;
const count = (status: string) => results.filter((result) => result.status === status).length;
for (const result of results) {
  if (result.status !== 'pass')
    console.log(`${result.status} ${result.testId}: ${result.error ?? result.skipReason ?? ''}`);
}
console.log(`${count('pass')} of ${results.length} passed, ${count('fail')} failed, ${count('skip')} skipped`);
process.exitCode = count('fail') > 0 ? 1 : 0;
