/** `npm start`: runs all of Tessera on this machine, in the foreground, until Ctrl-C. */
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { parseSettings, toSentence } from '../../workers/shared/settings/settings.ts';
import type { ProductName } from '../../workers/shared/settings/settings-schema.ts';
import { readEnvironment, startSchema } from '../deploy/environment.ts';
import { readRateLimits } from '../deploy/rate-limits.ts';
import { buildAll, ROOT, WORKER_BUNDLE } from './build.ts';
import { readDevVars } from './dev-vars.ts';
import { toFirstCommands } from './first-commands.ts';
import { startLocalBridge } from './local-bridge.ts';
import { startLocalServer } from './local-server.ts';
import { claimLocalState } from './local-state.ts';
import { createStackReader } from './original-stack.ts';
import { toReadableLine } from './readable-log.ts';
import { startSmtpBridge } from './smtp-bridge.ts';
import { startSmtpSink } from './smtp-sink.ts';
import { readWorkerOptions } from './worker-options.ts';

const HOST = '127.0.0.1';
const environment = readEnvironment(startSchema);
const { PORT: port, SMTP_PORT: smtpPort, SINK_PORT: sinkPort } = environment;
const stateDirectory = resolve(ROOT, environment.STATE_DIR);
const devVarsPath = resolve(ROOT, environment.DEV_VARS);

for (const [name, wanted] of Object.entries({ PORT: port, SMTP_PORT: smtpPort, SINK_PORT: sinkPort })) {
  if (await isFree(wanted)) continue;
  console.error(
    `${HOST}:${wanted} is in use. Set ${name} to another port, for example ${name}=${wanted > 50_000 ? wanted - 10_000 : wanted + 10_000} npm start`,
  );
  process.exit(1);
}

const { vars, isNew } = readDevVars(devVarsPath, join(ROOT, '.dev.vars.example'));
const rootToken = vars.ROOT_TOKEN ?? '';
const given = { MAIL_TRANSPORT: `smtp://${HOST}:${sinkPort}`, ...vars, ...overridesFromEnvironment() };
const settings = { ...(await readWorkerOptions()).bindings, ...given, LOCAL: '1' };
refuseBadSettings(settings);
// Check the local state before the build, which takes seconds. The server itself checks it too.
const refusal = claimLocalState(stateDirectory);
if (refusal !== null) {
  console.error(refusal);
  process.exit(1);
}
buildAll();
const readStack = createStackReader(WORKER_BUNDLE);
const sink = await startSmtpSink({ host: HOST, port: sinkPort, directory: join(stateDirectory, 'sink') });
const server = await startLocalServer({
  host: HOST,
  port,
  stateDirectory,
  vars: given,
  ...(environment.LOG === 'text' ? { printLog: (message) => console.log(readStack(toReadableLine(message))) } : {}),
  ...(environment.WORKER_BUNDLE ? { scriptPath: resolve(ROOT, environment.WORKER_BUNDLE, 'worker.js') } : {}),
  rateLimits: {
    ...readRateLimits(settings),
    ...(environment.RATE_LIMIT_AUTH === undefined ? {} : { RATE_LIMIT_AUTH: environment.RATE_LIMIT_AUTH }),
  },
  directories: Number(environment.DIRECTORIES),
  ...(environment.OBJECT_SHARDS === undefined ? {} : { objectShards: environment.OBJECT_SHARDS }),
});
const inbound = await startSmtpBridge({ host: HOST, port: smtpPort, url: server.url, token: rootToken });
const products = parseSettings(settings).settings.PRODUCTS;
const bridge = products.includes('mail') ? await startLocalBridge(server.url, environment) : null;

/** Ends the process if a setting is invalid or its name is unknown. Prints the allowed values, never the given value. */
function refuseBadSettings(settings: Readonly<Record<string, unknown>>): void {
  const { problems } = parseSettings(settings);
  if (problems.length === 0) return;
  console.error(problems.map(toSentence).join('\n'));
  console.error(`Variables come from ${devVarsPath}, from VAR_NAME in the environment and from wrangler.toml.`);
  process.exit(1);
}

function isFree(wanted: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(wanted, HOST, () => probe.close(() => resolve(true)));
  });
}

/** Reads variables of the form `VAR_NAME=value` from the environment. Each sets the setting NAME for one run. Tests use it. */
function overridesFromEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => name.startsWith('VAR_'));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice('VAR_'.length), value ?? '']));
}

const base = `http://localhost:${port}`;
const first = toFirstCommands(base, devVarsPath);
const TASKS: Readonly<Record<ProductName, string>> = {
  storage: 'makes a key, stores a file and reads it back',
  leaderboard: 'makes a token, posts a score and reads the board',
  mail: `registers me@example.test; then sign in at ${base}/_/mail`,
};
const blocks = products.map((name) => `# ${name}: ${TASKS[name]}\n${first[name]}`);
const links = products.map((name) => `  ${name.padEnd(18)} ${base}/_/${name}`);
console.log(`
Tessera is running.

  web app and APIs   ${base}/_/   (API reference: ${base}/_/docs)
${links.join('\n')}
  operators          ${base}/_/operator
  object storage     ${base}      (S3, any region)
  inbound SMTP       ${HOST}:${smtpPort}
  mail programs      ${bridge ? `${HOST}:${bridge.imapPort} (IMAP), ${HOST}:${bridge.smtpPort} (SMTP), with an app token` : 'no bridge'}
  outbound mail sink ${HOST}:${sinkPort}, files in ${join(stateDirectory, 'sink')}
  operator token     ROOT_TOKEN in ${devVarsPath}${isNew ? ` (created now): ${rootToken}` : ''}

First commands. Paste a block into another shell.

${blocks.join('\n\n')}

Ctrl-C ends it.
`);

let isStopping = false;
async function stop(): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  await bridge?.stop();
  await inbound.stop();
  await server.stop();
  await sink.stop();
  process.exit(0);
}
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

// Stop when the parent process is gone. A killed npm cannot forward the signal, and its children would keep holding the ports.
if (process.env.npm_lifecycle_event === 'start') {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && void stop(), 500).unref();
}
