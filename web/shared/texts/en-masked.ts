/** English texts of addresses to give away. */
export const enMasked = {
  title: 'Addresses to give away',
  text: 'Give each shop or list an address of its own. It holds nothing of your name, mail to it shows your note, and one click ends it: later mail is refused.',
  note: 'Where you give it',
  noteHint: 'Where? Such as “Running shoes shop”',
  make: 'Make one',
  copy: 'Copy',
  copied: '{email} was copied.',
  made: '{email} was made.',
  end: 'End',
  open: 'Open again',
  isEnded: 'ended',
  ended: 'Mail to {email} is refused from now on.',
  opened: '{email} receives mail again.',
  noNote: 'No note',
  noMail: 'no mail yet',
  lastMail: 'last mail {when}',
};
