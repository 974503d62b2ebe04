/** The settings of mail, a part of `settings-schema.ts`. */
import {
  address,
  choice,
  domains,
  hostname,
  httpUrl,
  isPort,
  number,
  optionalNumber,
  text,
  token,
} from './setting-types.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const ATTACHMENT_BYTES = { unit: 'bytes', min: 1, max: 100 * MIB };
const RECIPIENTS_PER_HOUR = { unit: 'recipients', min: 0, max: 10_000_000 };
const QUOTA_BYTES = { unit: 'bytes', min: 1, max: 1024 * GIB };

const isMailAddress = (value: string): boolean => /^[^\s@]+@[^\s@]+$/.test(value);
/** Cloudflare's SMTP submission answers 250 to mail for suppressed addresses and drops it, so its mail could be lost silently. */
const isLossy = (value: string): boolean => /^smtps?:\/\/[^/?]*\bmx\.cloudflare\.net(?:[:/?]|$)/i.test(value);
const isTransport = (value: string): boolean => {
  const match =
    /^smtps?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?(?:\?tls=(?:off|opportunistic|required))?$/i;
  const port = match.exec(value)?.[1];
  return (
    value === 'email-service' ||
    (match.test(value) && !isLossy(value) && (port === undefined || (isPort(Number(port)) && Number(port) !== 25)))
  );
};

const TRANSPORTS_MAX = 4;
const isMailTransport = (value: string): boolean => {
  const transports = value.split(',').map((each) => each.trim());
  return transports.length <= TRANSPORTS_MAX && transports.every(isTransport);
};

export const mailSettings = {
  MAIL_DOMAINS: domains({ group: 'Mail', meaning: 'Domains whose mail is hosted. The API can add more.' }),
  MAIL_HOSTNAME: hostname({
    group: 'Mail',
    shownFallback: 'the first of MAIL_DOMAINS',
    meaning: 'Name of this server in EHLO, in Received fields and in reports.',
  }),
  MAIL_BRIDGE_HOST: hostname({
    group: 'Mail',
    shownFallback: 'not offered',
    meaning:
      'Host of the operator’s bridge to IMAP and submission, with the ports 993 and 465 (docs/mail.md). Settings, autoconfig and the DNS records of domains name it.',
  }),
  POSTMASTER_ADDRESS: text(
    {
      group: 'Mail',
      shownFallback: 'the quarantine of the operator',
      meaning: 'Account that receives mail for postmaster@ and abuse@ if no account has that address.',
    },
    'a mail address',
    isMailAddress,
  ),
  PERSONAL_ATTACHMENT_BYTES: number({
    group: 'Mail',
    ...ATTACHMENT_BYTES,
    fallback: 25 * MIB,
    meaning: 'All attachments of one message together, decoded, in a personal account.',
  }),
  PERSONAL_QUOTA_BYTES: number({
    group: 'Mail',
    ...QUOTA_BYTES,
    fallback: 5 * GIB,
    meaning: 'Size of a personal mailbox.',
  }),
  BUSINESS_ATTACHMENT_BYTES: number({
    group: 'Mail',
    ...ATTACHMENT_BYTES,
    fallback: 50 * MIB,
    meaning: 'All attachments of one message together, decoded, in a business account.',
  }),
  BUSINESS_QUOTA_BYTES: number({
    group: 'Mail',
    ...QUOTA_BYTES,
    fallback: 50 * GIB,
    meaning: 'Size of a business mailbox.',
  }),

  MAIL_TRANSPORT: text(
    {
      group: 'Outgoing mail',
      fallback: 'email-service',
      meaning:
        "How mail leaves: Cloudflare's Email Service or an SMTP relay. Of a list, the first one that takes the message: Email Service takes at most 5 MiB and no forwards. `npm start` uses the local sink by default.",
    },
    'email-service, smtp://host:port[?tls=off|opportunistic|required] or smtps://host:port, with a port other than 25; or ' +
      'several of these, separated by commas. ' +
      'smtp.mx.cloudflare.net is refused, because it answers 250 and drops mail to suppressed addresses: use email-service. ' +
      'User and password go into MAIL_TRANSPORT_USER and MAIL_TRANSPORT_PASSWORD',
    isMailTransport,
  ),
  MAIL_TRANSPORT_USER: text(
    { group: 'Outgoing mail', meaning: 'User name at the relay of MAIL_TRANSPORT. Sent inside TLS only.' },
    'at most 255 characters',
    (value) => value.length <= 255,
  ),
  MAIL_TRANSPORT_PASSWORD: text(
    { group: 'Outgoing mail', isSecret: true, meaning: 'Password of MAIL_TRANSPORT_USER.' },
    'at most 255 characters',
    (value) => value.length <= 255,
  ),
  CLOUDFLARE_MAIL_TOKEN: token({
    group: 'Outgoing mail',
    isSecret: true,
    meaning:
      "API token with Email Sending > Edit. With it, the end of a suppression is read, and operators see and lift the entries of Cloudflare's suppression list. With Zone > Zone > Read and Zone > Analytics > Read too, traces read the log of Email Routing.",
  }),
  MAIL_API_URL: httpUrl({
    group: 'Outgoing mail',
    meaning: "Cloudflare's API of Email Sending for the account. `npm run deploy` sets it.",
  }),
  MAX_MASKED_ADDRESSES_PER_ACCOUNT: number({
    group: 'Mail',
    unit: 'addresses',
    min: 0,
    max: 10_000,
    fallback: 500,
    meaning: 'Masked addresses that one account may make, ended ones included.',
  }),
  SEND_LIMIT_PER_HOUR: number({
    group: 'Outgoing mail',
    ...RECIPIENTS_PER_HOUR,
    fallback: 200,
    meaning: 'Recipients that one account may send to per hour.',
  }),
  SEND_LIMIT_FIRST_DAY: number({
    group: 'Outgoing mail',
    ...RECIPIENTS_PER_HOUR,
    fallback: 20,
    meaning:
      'The same limit on the first day of an account, and while many of its messages fail. SEND_LIMIT_PER_HOUR still applies.',
  }),
  SEND_LIMIT_FIRST_WEEK: number({
    group: 'Outgoing mail',
    ...RECIPIENTS_PER_HOUR,
    fallback: 50,
    meaning: 'The same limit on the second to seventh day of an account.',
  }),
  DOMAIN_SEND_LIMIT_PER_HOUR: number({
    group: 'Outgoing mail',
    ...RECIPIENTS_PER_HOUR,
    fallback: 10_000,
    meaning: 'Recipients that all accounts of one hosted domain together may send to per clock hour.',
  }),
  AUTOMATIC_LIMIT_PER_HOUR: number({
    group: 'Outgoing mail',
    unit: 'messages',
    min: 1,
    max: 10_000_000,
    fallback: 200,
    meaning: 'Forwards and vacation replies of one account per hour. Further ones wait for the next hour.',
  }),
  MAIL_OUT_PER_MONTH: number({
    group: 'Outgoing mail',
    unit: 'recipients',
    min: 0,
    max: 1_000_000_000,
    fallback: 100_000,
    meaning:
      "Recipients per calendar month (UTC) of all mail through Cloudflare's Email Service, which charges for each: the default costs 34 dollars. Over it, mail waits.",
  }),
  MAIL_RECIPIENTS_MAX: number({
    group: 'Outgoing mail',
    unit: 'recipients',
    min: 1,
    max: 1000,
    fallback: 100,
    meaning: 'Recipients of one message.',
  }),
  MAIL_HOLD_SECONDS: number({
    group: 'Outgoing mail',
    unit: 'seconds',
    min: 0,
    max: 3600,
    fallback: 10,
    meaning: 'Time in which a sent message can still be called back.',
  }),
  MAIL_RETRY_SECONDS: number({
    group: 'Outgoing mail',
    unit: 'seconds',
    min: 1,
    max: 14_400,
    fallback: 60,
    meaning:
      'Delay before the second attempt. It doubles with each attempt, up to 4 hours. Incoming mail uses a sixth of it.',
  }),
  MAIL_LEASE_SECONDS: number({
    group: 'Outgoing mail',
    unit: 'seconds',
    min: 1,
    max: 86_400,
    fallback: 900,
    meaning: 'Time that a worker has for its attempts before another worker may try the same message.',
  }),
  MAIL_LEDGER_SECONDS: number({
    group: 'Outgoing mail',
    unit: 'seconds',
    min: 1,
    max: 86_400,
    fallback: 21_600,
    meaning:
      "Longest time that the operator's totals of incoming mail are behind. Mail that waits for a scanner or is in quarantine shows at once.",
  }),
  SMTP_TIMEOUT_SECONDS: optionalNumber({
    group: 'Outgoing mail',
    unit: 'seconds',
    min: 1,
    max: 600,
    fallback: 'the times of RFC 5321 §4.5.3.2',
    meaning: 'Upper limit for every stage of an SMTP session.',
  }),
  MAIL_CONSUMERS: optionalNumber({
    group: 'Outgoing mail',
    unit: 'consumers',
    min: 1,
    max: 250,
    fallback: 'as many as the platform starts, up to 250',
    meaning:
      'Consumers of the queue of outgoing mail that run at the same time, at most. Applies with the next deployment; a local server ignores it.',
  }),
  IMAP_STAND_IN: text(
    {
      group: 'Mail',
      isLocal: true,
      meaning:
        'A host that pulls may reach although it is not public, with the ports that it has instead of 993 and 143, such as `localhost:14993:14143`. For tests.',
    },
    'host:port:port',
    (value) => /^[a-z0-9.-]+:\d{1,5}:\d{1,5}$/.test(value),
  ),
  MAIL_HINTS: choice(['', 'lost', 'repeated', 'late'], {
    group: 'Outgoing mail',
    fallback: '',
    meaning: 'Breaks the queue messages of mail on purpose, for tests.',
    isLocal: true,
  }),

  DNS_OVER_HTTPS_URL: httpUrl({
    group: 'Mail checks',
    shownFallback: "Cloudflare's resolver; none on a local server",
    meaning: 'Resolver for SPF, DKIM and DMARC.',
  }),
  ARC_TRUSTED_SEALERS: domains({
    group: 'Mail checks',
    meaning: 'Domains whose ARC seals are trusted, for forwarders and lists that break DMARC.',
  }),
  RSPAMD_URL: httpUrl({
    group: 'Mail checks',
    shownFallback: 'the built-in classifier',
    meaning: 'An rspamd worker that decides about spam, for example `http://host:11333`.',
  }),
  RSPAMD_PASSWORD: token({ group: 'Mail checks', isSecret: true, meaning: 'Password for rspamd.' }),
  CLAMD_ADDRESS: address(
    {
      group: 'Mail checks',
      meaning: 'A clamd that supports INSTREAM. It runs in addition to the built-in virus checks.',
    },
    3310,
  ),
  SCANNER_TIMEOUT_SECONDS: number({
    group: 'Mail checks',
    unit: 'seconds',
    min: 1,
    max: 600,
    fallback: 60,
    meaning: 'Time that rspamd or clamd has for one message. Later answers defer the message.',
  }),
};
