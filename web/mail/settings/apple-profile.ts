/**
 * A configuration profile of Apple for one mail account: the lines of the page as a file. The password is not in it; the device asks for
 * it. https://developer.apple.com/documentation/devicemanagement/mail
 */

export interface ProgramLines {
  readonly email: string;
  readonly name: string;
  readonly host: string;
  readonly imapPort: number;
  readonly submissionPort: number;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const escapeXml = (text: string): string => text.replace(/[&<>]/g, (letter) => ESCAPES[letter] ?? '');

function toXml(value: unknown): string {
  if (typeof value === 'string') return `<string>${escapeXml(value)}</string>`;
  if (typeof value === 'number') return `<integer>${value}</integer>`;
  if (typeof value === 'boolean') return value ? '<true/>' : '<false/>';
  if (Array.isArray(value)) return `<array>${value.map(toXml).join('')}</array>`;
  const members = Object.entries(value as object).map(([key, each]) => `<key>${key}</key>${toXml(each)}`);
  return `<dict>${members.join('\n')}</dict>`;
}

/** @param newId makes a random UUID. */
export function toAppleProfile(lines: ProgramLines, newId: () => string): string {
  const { email, name, host, imapPort, submissionPort } = lines;
  const id = `mail.${email.replace('@', '.')}`;
  const server = (direction: 'Incoming' | 'Outgoing', port: number) => ({
    [`${direction}MailServerAuthentication`]: 'EmailAuthPassword',
    [`${direction}MailServerHostName`]: host,
    [`${direction}MailServerPortNumber`]: port,
    [`${direction}MailServerUseSSL`]: true,
    [`${direction}MailServerUsername`]: email,
  });
  const account = {
    PayloadType: 'com.apple.mail.managed',
    PayloadVersion: 1,
    PayloadIdentifier: `${id}.account`,
    PayloadUUID: newId(),
    PayloadDisplayName: email,
    EmailAccountDescription: email,
    EmailAccountName: name,
    EmailAccountType: 'EmailTypeIMAP',
    EmailAddress: email,
    ...server('Incoming', imapPort),
    ...server('Outgoing', submissionPort),
    OutgoingPasswordSameAsIncomingPassword: true,
  };
  const profile = {
    PayloadType: 'Configuration',
    PayloadVersion: 1,
    PayloadIdentifier: id,
    PayloadUUID: newId(),
    PayloadDisplayName: email,
    PayloadContent: [account],
  };
  const doctype =
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">';
  return `<?xml version="1.0" encoding="UTF-8"?>\n${doctype}\n<plist version="1.0">${toXml(profile)}</plist>\n`;
}
