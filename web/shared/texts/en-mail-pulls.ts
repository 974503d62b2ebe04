/** English texts of Settings, Import: mail from another mailbox. Words in braces are replaced. */
const WITH_APP_PASSWORD = 'It refuses your own password. Create an app password there, and use that.';

/** Why an archive cannot be imported. */
export const enArchive = {
  damaged: 'The archive is damaged.',
  noArchive: 'This is not a zip archive, or its end is missing.',
  cannotUnpack: '“{name}” is encrypted, or packed in a way that browsers cannot unpack.',
};

export const enMailPulls = {
  title: 'From another mailbox',
  text: 'Fetches all folders of your old mailbox, then what is new every 15 minutes, until you end it or for 30 days. The old mailbox is only read.',
  provider: 'Where is your mail now?',
  host: 'IMAP server',
  port: 'Security',
  ports: { 993: 'TLS, port 993', 143: 'STARTTLS, port 143' },
  userName: 'User name',
  userNameHint: 'Most often your old address.',
  secret: 'Password there',
  secretKind: 'This is',
  secretKinds: { password: 'a password', oauth_token: 'an OAuth token' },
  secretHint: 'Kept encrypted, and erased when the pull ends.',
  start: 'Start',
  started: 'The pull has started.',
  end: 'End',
  ended: 'The pull ended, and its password was erased. Your messages stay.',
  pulls: 'Pulls',
  states: {
    connected: 'Fetching, {remaining} to go in the folders read so far.',
    waiting: 'Continues at {time}.',
    upToDate: 'Up to date. Looks again at {time}.',
    ended: 'Ended. Enter the password again to continue.',
  },
  counts: '{imported} imported, {duplicates} already here, {failed} not imported.',
  faults: {
    login_refused: 'The server refused the user name or the password.',
    host_not_allowed: 'This is not a public mail server.',
    secret_lost: 'The password can no longer be read.',
    tls_failed: 'The server offers no valid encryption.',
    unreachable: 'The server cannot be reached.',
    interrupted: 'The connection was interrupted.',
    over_quota: 'This mailbox is full.',
  },
  providers: {
    gmail: {
      name: 'Gmail',
      host: 'imap.gmail.com',
      note: `${WITH_APP_PASSWORD} It needs 2-Step Verification: myaccount.google.com/apppasswords. Labels come along.`,
    },
    outlook: {
      name: 'Outlook.com, Hotmail, Microsoft 365',
      host: 'outlook.office365.com',
      note: 'It refuses every password, and accepts an OAuth token only. Without one, let Thunderbird download the mail, and import its files below.',
    },
    icloud: { name: 'iCloud', host: 'imap.mail.me.com', note: `${WITH_APP_PASSWORD} See account.apple.com.` },
    yahoo: { name: 'Yahoo, AOL', host: 'imap.mail.yahoo.com', note: WITH_APP_PASSWORD },
    fastmail: { name: 'Fastmail', host: 'imap.fastmail.com', note: WITH_APP_PASSWORD },
    gmx: { name: 'GMX', host: 'imap.gmx.net', note: 'Allow IMAP in its settings first.' },
    webde: { name: 'WEB.DE', host: 'imap.web.de', note: 'Allow IMAP in its settings first.' },
    proton: {
      name: 'Proton, Tuta',
      host: '',
      note: 'They offer no IMAP over the internet. Export your mail there as mbox or .eml files, and import these below.',
    },
    other: { name: 'Another provider', host: '', note: '' },
  },
};
