/** The bridge for mail programs that `npm start` runs on this machine. */
import { type Bridge, startBridge } from '../../bridge/start-bridge.ts';

export interface LocalBridgeOptions {
  readonly BRIDGE: string;
  readonly BRIDGE_IMAP_PORT: number;
  readonly BRIDGE_SMTP_PORT: number;
}

/** @returns null without a bridge, or if a port is in use, which is only a warning: everything else works without it. */
export async function startLocalBridge(url: string, options: LocalBridgeOptions): Promise<Bridge | null> {
  if (options.BRIDGE === '0') return null;
  try {
    return await startBridge({
      server: url,
      host: '127.0.0.1',
      ports: { imap: options.BRIDGE_IMAP_PORT, smtp: options.BRIDGE_SMTP_PORT },
      certificate: null,
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`No bridge for mail programs: ${reason}. Set BRIDGE_IMAP_PORT and BRIDGE_SMTP_PORT, or BRIDGE=0.`);
    return null;
  }
}
