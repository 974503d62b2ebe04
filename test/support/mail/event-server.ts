/**
 * A server whose mail leaves through the binding of Email Service, in a process of its own, so that a test can kill it. The parent
 * sends delivery events over IPC; another Worker puts them into the queue, as Cloudflare does.
 * Arguments: state folder, port. Environment: `VARS`, the variables of the Worker as JSON.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildAll } from '../../../dev/local/build.ts';
import { startLocalServer } from '../../../dev/local/local-server.ts';
import { PLATFORM_BUNDLE } from '../platform/bundle.ts';

const [, , stateDirectory = '', port = ''] = process.argv;
const RULED = join(PLATFORM_BUNDLE, 'worker.js');

buildAll();
const server = await startLocalServer({
  host: '127.0.0.1',
  port: Number(port),
  stateDirectory,
  vars: JSON.parse(process.env.VARS ?? '{}'),
  ...(existsSync(RULED) ? { scriptPath: RULED } : {}),
  beside: [
    {
      name: 'cloudflare',
      modules: true,
      script: 'export default { fetch: () => new Response(null, { status: 404 }) };',
      queueProducers: { EVENTS: 'tessera-mail-events' },
    },
  ],
  printLog: (message) => process.stdout.write(`${message}\n`),
});
process.on('message', async ({ events }: { events: readonly unknown[] }) => {
  const queue = await server.miniflare.getQueueProducer('EVENTS', 'cloudflare');
  for (const event of events) await queue.send(event);
  process.send?.({ sent: events.length });
});
process.send?.({ url: server.url });
