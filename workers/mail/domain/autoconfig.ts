/** The document by which Thunderbird and other programs set themselves up (https://wiki.mozilla.org/Thunderbird:Autoconfiguration). Pure. */

/** Path on the host of the app. */
export const AUTOCONFIG_PATH = '/.well-known/autoconfig/mail/config-v1.1.xml';
/** Host before a mail domain, and the only path there. */
export const AUTOCONFIG_HOST = 'autoconfig.';
export const AUTOCONFIG_HOST_PATH = '/mail/config-v1.1.xml';

interface Servers {
  readonly host: string;
  readonly imap_port: number;
  readonly submission_port: number;
}

/** @param domain the part of the address after "@". @param page where a person makes an app password. */
export function toAutoconfig(domain: string, { host, imap_port, submission_port }: Servers, page: string): string {
  const server = (direction: string, type: string, port: number) => `    <${direction}Server type="${type}">
      <hostname>${escapeXml(host)}</hostname>
      <port>${port}</port>
      <socketType>SSL</socketType>
      <authentication>password-cleartext</authentication>
      <username>%EMAILADDRESS%</username>
    </${direction}Server>`;
  const name = escapeXml(domain);
  return `<?xml version="1.0" encoding="UTF-8"?>
<clientConfig version="1.1">
  <emailProvider id="${name}">
    <domain>${name}</domain>
    <displayName>${name}</displayName>
    <displayShortName>${name}</displayShortName>
${server('incoming', 'imap', imap_port)}
${server('outgoing', 'smtp', submission_port)}
    <documentation url="${escapeXml(page)}">
      <descr lang="en">Make an app password under Settings, Devices, and enter it as the password.</descr>
    </documentation>
  </emailProvider>
</clientConfig>
`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeXml = (text: string): string => text.replace(/[&<>"]/g, (letter) => ESCAPES[letter] ?? '');
