/**
 * Runs the samples with which Fastmail shows JMAP to newcomers (github.com/fastmail/JMAP-Samples), from a checkout that `JMAP_SAMPLES`
 * names. Only `https` is replaced, because the server of the tests has no certificate; host and token are in the environment.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awaitMessage, confirmSession, registerUser } from '../../support/mail/mail.ts';
import { hasPythonModules } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const checkout = process.env.JMAP_SAMPLES ?? '';
const LANGUAGES = [
  { folder: 'javascript', program: process.execPath, end: '.js', isThere: true },
  { folder: 'python3', program: '/usr/bin/python3', end: '.py', isThere: hasPythonModules('requests') },
].filter(({ isThere }) => isThere);

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Copies the samples of a language, with `http` in place of `https`. */
function copySamples(folder: string): string {
  const copy = join(mkdtempSync(join(tmpdir(), 'tessera-samples-')), folder);
  cpSync(join(checkout, folder), copy, { recursive: true });
  for (const name of readdirSync(copy)) {
    if (!/\.(?:js|py)$/.test(name)) continue;
    const text = readFileSync(join(copy, name), 'utf8');
    writeFileSync(join(copy, name), text.replaceAll('https://', 'http://'));
  }
  return copy;
}

it.skipIf(checkout === '').each(LANGUAGES)(
  'the samples in $folder send a message and list the newest',
  async (language) => {
    const { folder, program, end } = language;
    const copy = copySamples(folder);
    const ann = await registerUser(server, folder);
    await confirmSession(server, ann.token);
    const { body } = await server.call('POST', '/v1/me/tokens', { name: 'samples' }, ann.token);
    const env = {
      ...process.env,
      JMAP_HOSTNAME: new URL(server.url).host,
      JMAP_USERNAME: ann.email,
      JMAP_TOKEN: body.token,
    };
    const run = (name: string) => execFileSync(program, [`${name}${end}`], { cwd: copy, env, encoding: 'utf8' });
    const [subject = ''] =
      /(?<=subject"?: ["'`])[^"'`]+/.exec(readFileSync(join(copy, `hello-world${end}`), 'utf8')) ?? [];
    run('hello-world');
    expect(await awaitMessage(server, ann, 'inbox', subject)).toMatchObject({ from: { email: ann.email } });
    expect(run('top-ten')).toContain(subject);
  },
);
