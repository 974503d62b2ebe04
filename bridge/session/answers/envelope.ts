/** ENVELOPE (RFC 3501 §7.4.2). Pure. */
import parseAddresses from 'nodemailer/lib/addressparser';
import { type HeaderField, readFields, readValue } from './header.ts';
import { toImapString, toNullableString } from './strings.ts';

type Address = ReturnType<typeof parseAddresses>[number];

/** @param header the header block, one character per byte. */
export function toEnvelope(header: string): string {
  const fields = readFields(header);
  const text = (name: string): string => toNullableString(readValue(fields, name));
  const from = toAddresses(fields, 'from');
  const or = (addresses: string): string => (addresses === 'NIL' ? from : addresses);
  const parts = [
    text('date'),
    text('subject'),
    from,
    or(toAddresses(fields, 'sender')),
    or(toAddresses(fields, 'reply-to')),
    toAddresses(fields, 'to'),
    toAddresses(fields, 'cc'),
    toAddresses(fields, 'bcc'),
    text('in-reply-to'),
    text('message-id'),
  ];
  return `(${parts.join(' ')})`;
}

function toAddresses(fields: readonly HeaderField[], name: string): string {
  const value = readValue(fields, name);
  if (value === null || value === '') return 'NIL';
  const addresses = parseAddresses(value).map(toAddress).join('');
  return addresses === '' ? 'NIL' : `(${addresses})`;
}

function toAddress({ name, address, group }: Address): string {
  if (group)
    return `(NIL NIL ${toImapString(name || 'undisclosed-recipients')} NIL)${group.map(toAddress).join('')}(NIL NIL NIL NIL)`;
  const at = (address ?? '').lastIndexOf('@');
  const mailbox = at < 0 ? (address ?? '') : (address ?? '').slice(0, at);
  const host = at < 0 ? 'MISSING_DOMAIN' : (address ?? '').slice(at + 1);
  if (mailbox === '' && !name) return '';
  return `(${name ? toImapString(name) : 'NIL'} NIL ${toImapString(mailbox)} ${toImapString(host)})`;
}
