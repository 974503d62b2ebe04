/** Chooses among the transports of a route. Pure. */
import { toBase64Size } from './base64-size.ts';

/** The transport Cloudflare Email Service. */
export const EMAIL_SERVICE = 'email-service';
/** Maximum size of a message: https://developers.cloudflare.com/email-service/platform/limits/ */
export const EMAIL_SERVICE_BYTES_MAX = 5 * 1024 * 1024;

/** Splits MAIL_TRANSPORT into its transports, in the order in which they are tried. */
export const splitTransports = (text: string): string[] => text.split(',').map((each) => each.trim());

/** What decides whether a transport takes a message. */
export interface Carried {
  /** Size of the whole message, encoded. */
  readonly sizeBytes: number;
  /** A forward has a foreign From, which Email Service refuses. */
  readonly isForward: boolean;
}

const takes = (transport: string, { sizeBytes, isForward }: Carried): boolean =>
  transport !== EMAIL_SERVICE || (sizeBytes <= EMAIL_SERVICE_BYTES_MAX && !isForward);

/** @returns the first transport that takes the message; the first one, which then refuses it, if none does. */
export const chooseTransport = (transports: readonly string[], message: Carried): string =>
  transports.find((transport) => takes(transport, message)) ?? transports[0] ?? EMAIL_SERVICE;

/** @returns the size of the largest message that one of the transports takes, encoded; null if the relay decides. */
export const bytesMaxOf = (transports: readonly string[]): number | null =>
  transports.every((transport) => transport === EMAIL_SERVICE) ? EMAIL_SERVICE_BYTES_MAX : null;

/** Room for what is added when a message is sent, such as DKIM signatures. */
export const SENDING_OVERHEAD_BYTES = 8 * 1024;

/**
 * @param encodedBytesMax maximum size of a message.
 * @param otherBytes size of the message without its files.
 * @returns how many bytes of files fit, before Base64 (RFC 2045 §6.8: 57 bytes become a line of 78).
 */
export function toFileBytesMax(encodedBytesMax: number, otherBytes: number): number {
  const room = encodedBytesMax - SENDING_OVERHEAD_BYTES - otherBytes;
  const bytes = Math.floor((room / 78) * 57);
  return bytes > 0 && toBase64Size(bytes) <= room ? bytes : Math.max(0, bytes - 57);
}
