"""Alpine on a terminal of its own: flags a message, saves it to Archive, sends one, and expunges. The arguments are HOME, the address, the app
token, the ports of IMAP and submission, and the subject."""

import os
import sys

import pexpect

home, email, token, imap, smtp, subject = sys.argv[1:]
options = f'/user={email}/tls/novalidate-cert'
with open(f'{home}/.pinerc', 'w') as pinerc:
    pinerc.write(
        f'personal-name=Ann\n'
        f'smtp-server=127.0.0.1:{smtp}{options}\n'
        f'inbox-path={{127.0.0.1:{imap}{options}}}INBOX\n'
        f'folder-collections=Mail {{127.0.0.1:{imap}{options}}}[]\n'
        f'default-fcc={{127.0.0.1:{imap}{options}}}Sent\n'
        f'customized-hdrs=From: Ann <{email}>\n'
        'feature-list=expunge-without-confirm,quit-without-confirm,enable-flag-cmd\n'
    )
alpine = pexpect.spawn(
    'alpine',
    ['-p', f'{home}/.pinerc', '-i'],
    env={**os.environ, 'HOME': home, 'TERM': 'vt100'},
    dimensions=(24, 100),
    timeout=60,
    encoding='utf-8',
)
steps = [
    ('Exit this greeting', 'e'),
    ('PASSWORD', f'{token}\r'),
    ('Preserve', 'n'),
    (subject, f'w{subject}\r*\r'),
    ('.+', 's'),
    ('folder', '\x15Archive\r'),
    ('saved|copied', f'c{email}\r\r\r'),
    ('Subject', 'by-alpine\rHello\r\x18'),
    ('Send message', 'y'),
    ('PASSWORD', f'{token}\r'),
    ('Preserve', 'n'),
    ('copied|sent', 'q'),
]
for pattern, keys in steps:
    alpine.expect(pattern)
    alpine.send(keys)
if alpine.expect([pexpect.EOF, 'Really']) == 1:
    alpine.send('y')
    alpine.expect(pexpect.EOF)
