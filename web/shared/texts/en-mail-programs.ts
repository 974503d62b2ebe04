/** English texts of Settings, Devices. */
export const enMailPrograms = {
  title: 'Mail programs and phones',
  notOffered:
    'The operator of this service offers no access for programs of IMAP. Programs of JMAP can be used with an app password.',
  lines: 'What to enter',
  linesText: 'Choose IMAP if the program asks. The user name is your address.',
  userName: 'User name',
  password: 'Password',
  passwordBelow: 'An app password: create one below',
  incoming: 'IMAP server',
  outgoing: 'SMTP server',
  security: 'Security',
  server: '{host}, port {port}',
  tls: 'SSL/TLS for both',
  once: 'Copy the app password now. It will not be shown again.',
  newPassword: 'App password',
  newPasswordText:
    'One for each device, so that you can revoke it alone under Security. Your own password does not work there.',
  nameDevice: 'Name of the device',
  create: 'Create app password',
  apple: 'iPhone, iPad and Mac',
  appleText: 'A profile with the same lines. It has not been tried on a device. The device asks for the app password.',
  appleSave: 'Download profile',
};
