/** The operator's bridge to IMAP and submission, which programs find by themselves. */
import { settingsOf } from '../../shared/settings/settings.ts';

export interface Bridge {
  readonly host: string;
  /** Ports with TLS from the first byte (RFC 8314). */
  readonly imap_port: number;
  readonly submission_port: number;
}

/** @returns null if the deployment offers none. */
export function readBridge(env: Env): Bridge | null {
  const { MAIL_BRIDGE_HOST: host } = settingsOf(env);
  return host === '' ? null : { host, imap_port: 993, submission_port: 465 };
}
