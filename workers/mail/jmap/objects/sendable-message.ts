/**
 * Makes a stored message fit for SMTP. Clients import messages as they are, with raw UTF-8 in the header, NULs or long lines. Strict
 * servers refuse these, so they are encoded or refused before the message is queued. Pure.
 */
import { foldField, toAddressesValue, toTextValue } from '../domain/compose-headers.ts';
import { toAddresses, toText } from './header-forms.ts';

/** RFC 5321 §4.5.3.1.6: 1,000 octets with CRLF. */
const LINE_BYTES_MAX = 998;
const ADDRESS_FIELDS = /^(?:resent-)?(?:from|sender|reply-to|to|cc)$/;
/** Fields whose value is text (RFC 5322 §3.6.5), or that other programs added (§3.6.8). */
const TEXT_FIELDS = /^(?:subject|comments|keywords|organization|list-id|x-[!-9;-~]+)$/;

interface Field {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

/** @returns the field, encoded (RFC 2047) if it has characters outside ASCII or a line that is too long. */
export function toSendableField({ name, value, source }: Field): string {
  const isFit =
    /^[^\u0080-\uffff]*$/.test(source) && source.split('\r\n').every((line) => line.length <= LINE_BYTES_MAX);
  if (isFit) return source;
  const written = source.slice(0, source.indexOf(':')).trimEnd();
  if (ADDRESS_FIELDS.test(name)) return foldField(written, toAddressesValue(toAddresses(value)));
  return TEXT_FIELDS.test(name) ? foldField(written, toTextValue(toText(value))) : source;
}

const LF = 0x0a;

/** Looks for content that SMTP cannot transport, in the pieces of a message with CRLF line ends. */
export class TransportCheck {
  #lineBytes = 0;
  #isHeader = true;
  #fault: string | null = null;

  /** Description of the first fault; null if there is none. */
  get fault(): string | null {
    return this.#fault;
  }

  push(piece: Uint8Array): void {
    if (piece.includes(0)) this.#fault ??= 'The message has a NUL byte (RFC 5321 §4.1.1.4).';
    for (let from = 0; from < piece.length; ) {
      const end = piece.indexOf(LF, from);
      const line = piece.subarray(from, end < 0 ? piece.length : end);
      this.#lineBytes += line.length;
      // The CR counts here.
      if (this.#lineBytes > LINE_BYTES_MAX + 1) this.#fault ??= `A line has more than ${LINE_BYTES_MAX} bytes.`;
      if (this.#isHeader && line.some((byte) => byte > 0x7f))
        this.#fault ??= 'The header has characters outside ASCII (RFC 6532).';
      if (end < 0) return;
      if (this.#lineBytes <= 1) this.#isHeader = false;
      this.#lineBytes = 0;
      from = end + 1;
    }
  }
}

/** Whether SMTP can transport the bytes as they are. @param bytes with CRLF line ends, without the header of a message. */
export function isSendable(bytes: Uint8Array): boolean {
  const check = new TransportCheck();
  check.push(Buffer.from('\r\n'));
  check.push(bytes);
  return check.fault === null;
}
