/** Checks the encoded size of a message against the way of each recipient, before anything is stored. */

import { settingsOf } from '../../../shared/settings/settings.ts';
import type { SubmissionFault } from '../../domain/submission-policy.ts';
import {
  bytesMaxOf,
  EMAIL_SERVICE_BYTES_MAX,
  SENDING_OVERHEAD_BYTES,
  toFileBytesMax,
} from '../../domain/transport-choice.ts';
import { createWayFinder, findOutsideTransports, listDefaultTransports } from '../route-table.ts';

interface Sized {
  /** Address of the sender. */
  readonly from: string;
  /** Domains of the recipients. */
  readonly domains: readonly string[];
  /** Size of the whole message, encoded. */
  readonly sizeBytes: number;
  /** Size of the files: decoded, and encoded in the message. */
  readonly fileBytes: number;
  readonly encodedFileBytes: number;
}

export interface SizeFault {
  readonly fault: SubmissionFault;
  /** Bytes of files, decoded, that the way takes. */
  readonly fileBytesMax: number;
}

const toMegabytes = (bytes: number): string => `${(Math.floor(bytes / 100_000) / 10).toFixed(1)} MB`;

/**
 * @returns the fault of the first recipient whose way does not take the message, with the size that fits; null if all ways do. Mail to
 * a mailbox here has only the limits of the accounts.
 */
export async function findSizeFault(env: Env, message: Sized): Promise<SizeFault | null> {
  // The smallest limit of any way. Most mail is below it, and needs no look-up.
  if (message.sizeBytes + SENDING_OVERHEAD_BYTES <= EMAIL_SERVICE_BYTES_MAX) return null;
  const findWay = createWayFinder(env);
  const senderDomain = message.from.slice(message.from.lastIndexOf('@') + 1);
  for (const domain of new Set(message.domains)) {
    const way = await findWay(domain, senderDomain);
    const bytesMax = typeof way === 'string' ? null : bytesMaxOf(way);
    if (bytesMax !== null && message.sizeBytes + SENDING_OVERHEAD_BYTES > bytesMax)
      return toSizeFault(message, domain, bytesMax);
  }
  return null;
}

/** Room for the text and the header of an ordinary message. */
const TEXT_BYTES = 64 * 1024;

/** @returns how many bytes of files fit into a message from an address to other servers; null if only the account limits them. */
export const readOutsideFileBytes = async (env: Env, from: string): Promise<number | null> =>
  toFileBytes(await findOutsideTransports(env, from.slice(from.lastIndexOf('@') + 1)));

/** As `readOutsideFileBytes`, for a domain without a transport of its own. */
export const readDefaultFileBytes = (env: Env): number | null => toFileBytes(listDefaultTransports(settingsOf(env)));

function toFileBytes(transports: readonly string[]): number | null {
  const bytesMax = bytesMaxOf(transports);
  return bytesMax === null ? null : toFileBytesMax(bytesMax, TEXT_BYTES);
}

function toSizeFault({ sizeBytes, fileBytes, encodedFileBytes }: Sized, domain: string, bytesMax: number): SizeFault {
  const fileBytesMax = toFileBytesMax(bytesMax, sizeBytes - encodedFileBytes);
  const limit = `Mail to ${domain} leaves through a service that takes at most ${toMegabytes(bytesMax)} of encoded message`;
  const text =
    fileBytes === 0
      ? `${limit}; this message has ${toMegabytes(sizeBytes)}.`
      : `${limit}: ${toMegabytes(fileBytesMax)} of files (${fileBytesMax} bytes). These files have ${toMegabytes(fileBytes)}.`;
  const path = fileBytes === 0 ? 'body' : 'attachments';
  return { fault: { status: 413, code: 'too_large', path, message: text }, fileBytesMax };
}
