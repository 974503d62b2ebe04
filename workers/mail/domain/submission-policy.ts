/** Basic validation of a message that a user submits. The texts of faults are written for the author of the message. Pure. */
import { type MailPath, parseMailPath } from './mail-path.ts';

export interface SubmittedAddress {
  readonly name: string;
  readonly email: string;
}

export interface SubmittedFile {
  readonly fileName: string;
  readonly sizeBytes: number;
}

export interface SubmissionFault {
  readonly status: 400 | 413;
  readonly code: 'no_recipient' | 'bad_address' | 'too_many_recipients' | 'too_large' | 'blocked_attachment';
  readonly path: string;
  readonly message: string;
}

/** Extensions of programs, and of files that run when opened. Mail servers generally refuse them. */
const BLOCKED_EXTENSIONS = new Set(
  (
    'ade adp apk app appx appxbundle bat cab chm cmd com cpl diagcab diagcfg diagpack dll dmg ex ex_ exe hta ins isp iso ' +
    'jar jnlp js jse lib lnk mde mjs msc msi msix msixbundle msp mst nsh pif ps1 scr sct shb sys vb vbe vbs vhd vxd wsc wsf wsh xll'
  ).split(' '),
);

export const isBlockedFile = (fileName: string): boolean =>
  BLOCKED_EXTENSIONS.has(/\.([a-z0-9_]+)[. ]*$/i.exec(fileName)?.[1]?.toLowerCase() ?? '');

export interface ValidRecipients {
  /** Envelope recipients in the order To, Cc, Bcc, each only once. */
  readonly paths: readonly MailPath[];
}

/** @returns all faults of the addresses, and the recipients if there are none. */
export function validateAddresses(
  message: {
    readonly to: readonly SubmittedAddress[];
    readonly cc: readonly SubmittedAddress[];
    readonly bcc: readonly SubmittedAddress[];
    readonly replyTo?: readonly SubmittedAddress[];
  },
  recipientsMax: number,
): { readonly faults: readonly SubmissionFault[]; readonly recipients: ValidRecipients } {
  const faults: SubmissionFault[] = [];
  const paths = new Map<string, MailPath>();
  const readPaths = (addresses: readonly SubmittedAddress[], member: string) =>
    addresses.flatMap(({ email }, at) => {
      const path = parseMailPath(email);
      if (path) return path;
      const message = explainBadAddress(email);
      faults.push({ status: 400, code: 'bad_address', path: `${member}.${at}.email`, message });
      return [];
    });
  for (const list of ['to', 'cc', 'bcc'] as const) {
    for (const path of readPaths(message[list], list)) paths.set(path.email.toLowerCase(), path);
  }
  readPaths(message.replyTo ?? [], 'reply_to');
  const count = message.to.length + message.cc.length + message.bcc.length;
  if (count === 0)
    faults.push({ status: 400, code: 'no_recipient', path: 'to', message: 'The message has no recipient.' });
  if (paths.size > recipientsMax) {
    const text = `The message has ${paths.size} recipients; the limit is ${recipientsMax}.`;
    faults.push({ status: 400, code: 'too_many_recipients', path: 'to', message: text });
  }
  return { faults, recipients: { paths: [...paths.values()] } };
}

const explainBadAddress = (email: string): string =>
  /[^\0-\x7f]/.test(email.slice(0, Math.max(0, email.lastIndexOf('@'))))
    ? 'The part before the @ must be ASCII (SMTPUTF8 is not supported).'
    : 'Not a valid mail address.';

/** @param bytesMax limit of all files together, decoded. */
export function validateFiles(files: readonly SubmittedFile[], bytesMax: number): SubmissionFault[] {
  const blocked = files.flatMap((file, at): SubmissionFault[] => {
    if (!isBlockedFile(file.fileName)) return [];
    const message = 'Programs cannot be sent by mail.';
    return [{ status: 400, code: 'blocked_attachment', path: `attachments.${at}`, message }];
  });
  const bytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (bytes <= bytesMax) return blocked;
  const message = `The attachments have ${bytes} bytes; the limit is ${bytesMax}.`;
  return [...blocked, { status: 413, code: 'too_large', path: 'attachments', message }];
}
