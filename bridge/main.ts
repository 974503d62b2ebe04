/** `npm run bridge`: serves IMAP and submission for a Tessera, in the foreground, until Ctrl-C. */
import { readSettings } from './settings.ts';
import { startBridge } from './start-bridge.ts';

async function main(): Promise<void> {
  const options = readSettings(process.env);
  const bridge = await startBridge(options);
  const withTls = options.certificate ? `, with TLS ${bridge.imapsPort} and ${bridge.smtpsPort}` : '';
  console.log(
    `Bridge to ${options.server}: IMAP on ${options.host}:${bridge.imapPort}, submission on ${bridge.smtpPort}${withTls}`,
  );
  const stop = (): void => void bridge.stop().then(() => process.exit(0));
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
