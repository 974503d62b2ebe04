/**
 * Reads the flags, labels and folder that other programs keep in the headers of an mbox message: `Status` and `X-Status` (Unix
 * programs), `X-Mozilla-Status` and `X-Mozilla-Keys` (Thunderbird), `X-Gmail-Labels` (Google Takeout).
 */

import { decodeWords } from './encoded-words.ts';

export interface MailMarks {
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  /** Path of the message's folder; null if the headers name none. */
  readonly folder: string | null;
}

const LABEL_LENGTH_MAX = 100;
/** Bits of `X-Mozilla-Status`. An expunged message was deleted but is still in the file. */
const MOZILLA_READ = 0x0001;
const MOZILLA_FLAGGED = 0x0004;
const MOZILLA_EXPUNGED = 0x0008;

/** Reads the marks of a message. @param head the first bytes of the message, as UTF-8. */
export function readForeignMarks(head: string): MailMarks {
  const header = head.slice(0, /\r?\n\r?\n/.exec(head)?.index ?? head.length);
  const gmail = fieldOf(header, 'X-Gmail-Labels');
  if (gmail !== null) return readGmailLabels(decodeWords(gmail));
  const status = fieldOf(header, 'Status') ?? '';
  const extended = fieldOf(header, 'X-Status') ?? '';
  const mozilla = Number.parseInt(fieldOf(header, 'X-Mozilla-Status') ?? '', 16) || 0;
  return {
    isRead: /^\w*R/.test(status) || (mozilla & MOZILLA_READ) !== 0,
    isFlagged: /^\w*F/.test(extended) || (mozilla & MOZILLA_FLAGGED) !== 0,
    labels: cleanLabels((fieldOf(header, 'X-Mozilla-Keys') ?? '').split(/\s+/)),
    folder: (mozilla & MOZILLA_EXPUNGED) !== 0 ? 'Trash' : null,
  };
}

/** @returns the unfolded value of the first field of this name; null if there is none. */
function fieldOf(header: string, name: string): string | null {
  const found = new RegExp(`^${name}[ \\t]*:[ \\t]*([^\\n]*(?:\\n[ \\t][^\\n]*)*)`, 'im').exec(header);
  return found ? (found[1] ?? '').replace(/\r?\n(?=[ \t])/g, '').trim() : null;
}

/** Names of Gmail's system labels. Takeout writes them in the language of the account. */
const GMAIL_NAMES: Readonly<Record<string, readonly string[]>> = {
  Unread: ['unread', 'ungelesen', 'non lus', 'non lu', 'no leídos', 'no leído', 'da leggere', 'não lidas', 'ongelezen'],
  Opened: ['opened', 'geöffnet', 'ouvert', 'abierto', 'abiertos', 'aperti', 'aperto', 'abertas', 'geopend'],
  Starred: ['starred', 'markiert', 'suivis', 'suivi', 'destacados', 'speciali', 'com estrela', 'met ster'],
  Trash: ['trash', 'papierkorb', 'corbeille', 'papelera', 'cestino', 'lixeira', 'prullenbak', 'bin'],
  Spam: ['spam'],
  Drafts: ['draft', 'drafts', 'entwürfe', 'entwurf', 'brouillons', 'borradores', 'bozze', 'rascunhos', 'concepten'],
  Sent: ['sent', 'gesendet', 'messages envoyés', 'enviados', 'posta inviata', 'inviati', 'verzonden'],
  Inbox: [
    'inbox',
    'posteingang',
    'boîte de réception',
    'recibidos',
    'posta in arrivo',
    'caixa de entrada',
    'postvak in',
  ],
  Archived: ['archived', 'archiviert', 'archivés', 'archivado', 'archiviati', 'arquivados', 'gearchiveerd'],
};
const GMAIL_MEANING = new Map(
  Object.entries(GMAIL_NAMES).flatMap(([meaning, names]) => names.map((name) => [name, meaning] as const)),
);
/**
 * Gmail labels that select a folder, in order of precedence. A Gmail message may have several labels, but the imported message is
 * put into one folder.
 */
const GMAIL_FOLDERS = [
  ['Trash', 'Trash'],
  ['Spam', 'Junk'],
  ['Inbox', 'Inbox'],
  ['Sent', 'Sent'],
] as const;

/** Reads a list of Gmail labels such as `Inbox,Important,"Work, old",Unread`. */
function readGmailLabels(value: string): MailMarks {
  const names = [...value.matchAll(/"((?:[^"\\]|\\.)*)"|([^",]+)/g)].map(([, quoted, plain]) =>
    (quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '').trim(),
  );
  return toGmailMarks(names);
}

/**
 * Converts the labels of a Gmail message. A message without a label for a folder goes to the Archive. A draft also goes there, with
 * a label.
 */
export function toGmailMarks(names: readonly string[]): MailMarks {
  const meanings = new Set(names.map((name) => GMAIL_MEANING.get(name.toLowerCase())));
  const own = names.filter((name) => GMAIL_MEANING.get(name.toLowerCase()) === undefined);
  return {
    isRead: !meanings.has('Unread'),
    isFlagged: meanings.has('Starred'),
    labels: cleanLabels(meanings.has('Drafts') ? [...own, 'Drafts'] : own),
    folder: GMAIL_FOLDERS.find(([meaning]) => meanings.has(meaning))?.[1] ?? 'Archive',
  };
}

export const cleanLabels = (names: readonly string[]): string[] => [
  ...new Set(
    names
      .map((name) =>
        name
          .replace(/\p{Cc}+/gu, ' ')
          .trim()
          .slice(0, LABEL_LENGTH_MAX),
      )
      .filter((name) => name !== ''),
  ),
];
