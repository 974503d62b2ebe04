/** Starts the listeners of a bridge: IMAP and submission, each with STARTTLS and, with a certificate, with TLS from the start. */
import { listen } from './listeners.ts';
import { NODE_NETWORK } from './node-network.ts';
import { Accounts } from './session/account.ts';
import { runSession } from './session/session.ts';
import { startSubmission } from './submission.ts';

export interface BridgeOptions {
  /** Origin of the Worker. */
  readonly server: string;
  readonly host: string;
  /** Port numbers; 0 picks a free one. */
  readonly ports: { readonly imap: number; readonly smtp: number; readonly imaps?: number; readonly smtps?: number };
  /** PEM texts. Without them, only loopback may log in. */
  readonly certificate: { readonly cert: string; readonly key: string } | null;
  readonly bridgeToken?: string;
  readonly connectionsMax?: number;
  readonly connectionsPerAddressMax?: number;
  readonly connectionsPerTokenMax?: number;
  readonly autologoutMs?: number;
}

export interface Bridge {
  readonly imapPort: number;
  readonly smtpPort: number;
  /** 0 without a certificate. */
  readonly imapsPort: number;
  readonly smtpsPort: number;
  stop(): Promise<void>;
}

const CONNECTIONS_MAX = 2_000;
const CONNECTIONS_PER_ADDRESS_MAX = 100;

/** @throws if a port is in use. */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { server, host, ports, certificate, bridgeToken } = options;
  const serverOptions = { server, network: NODE_NETWORK, ...(bridgeToken ? { bridgeToken } : {}) };
  const devicesUrl = `${server}/_/mail/settings`;
  const onRefused = (address: string): void => console.error(JSON.stringify({ event: 'login_refused', address }));
  const session = {
    accounts: new Accounts(serverOptions),
    devicesUrl,
    onRefused,
    ...(options.connectionsPerTokenMax ? { connectionsPerTokenMax: options.connectionsPerTokenMax } : {}),
    ...(options.autologoutMs ? { autologoutMs: options.autologoutMs } : {}),
  };
  const running: { readonly port: number; stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(running.map((each) => each.stop())));
  const connectionsMax = options.connectionsMax ?? CONNECTIONS_MAX;
  const startImap = async (port: number, isTls: boolean): Promise<number> => {
    const listening = await listen({
      host,
      port,
      isTls,
      certificate,
      connectionsMax,
      connectionsPerAddressMax: options.connectionsPerAddressMax ?? CONNECTIONS_PER_ADDRESS_MAX,
      serve: (pipe, peer) => runSession(pipe, peer, session),
    });
    running.push(listening);
    return listening.port;
  };
  const startSmtp = async (port: number, isTls: boolean): Promise<number> => {
    const submission = await startSubmission({
      ...serverOptions,
      host,
      port,
      isTls,
      certificate,
      connectionsMax,
      devicesUrl,
      onRefused,
    });
    running.push(submission);
    return submission.port;
  };
  try {
    return {
      imapPort: await startImap(ports.imap, false),
      smtpPort: await startSmtp(ports.smtp, false),
      imapsPort: ports.imaps === undefined ? 0 : await startImap(ports.imaps, true),
      smtpsPort: ports.smtps === undefined ? 0 : await startSmtp(ports.smtps, true),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
