/** Recognises the type of a file by its first bytes and by its name. */

export type FileKind =
  | 'zip'
  | 'gzip'
  | 'tar'
  | 'tnef'
  | 'program'
  | 'shortcut'
  | 'office'
  | 'closed-archive'
  | 'message'
  | 'other';

/** Number of first bytes that are enough to recognise a type. The signature of tar is at offset 257. */
export const HEAD_BYTES = 512;

/**
 * Signatures of file types; `bytes` are Latin-1. The kind `closed` is an archive that cannot be opened here, so its content is
 * unknown.
 */
const MAGIC: readonly {
  readonly kind: FileKind;
  readonly at: number;
  readonly bytes: string;
  readonly name: string;
}[] = [
  { kind: 'zip', at: 0, bytes: 'PK\x03\x04', name: 'zip' },
  { kind: 'zip', at: 0, bytes: 'PK\x05\x06', name: 'zip' },
  { kind: 'gzip', at: 0, bytes: '\x1f\x8b\x08', name: 'gzip' },
  { kind: 'tar', at: 257, bytes: 'ustar', name: 'tar' },
  { kind: 'program', at: 0, bytes: '\x7fELF', name: 'Unix program' },
  { kind: 'program', at: 0, bytes: '\xca\xfe\xba\xbe', name: 'Java or macOS program' },
  { kind: 'program', at: 0, bytes: '\xcf\xfa\xed\xfe', name: 'macOS program' },
  { kind: 'program', at: 0, bytes: '\xce\xfa\xed\xfe', name: 'macOS program' },
  { kind: 'shortcut', at: 0, bytes: 'L\0\0\0\x01\x14\x02\0', name: 'Windows shortcut' },
  { kind: 'office', at: 0, bytes: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', name: 'Office document' },
  { kind: 'closed-archive', at: 0, bytes: 'Rar!\x1a\x07', name: 'rar' },
  { kind: 'closed-archive', at: 0, bytes: '7z\xbc\xaf\x27\x1c', name: '7z' },
  { kind: 'closed-archive', at: 0, bytes: 'BZh', name: 'bzip2' },
  { kind: 'closed-archive', at: 0, bytes: '\xfd7zXZ\0', name: 'xz' },
  { kind: 'closed-archive', at: 0, bytes: '\x28\xb5\x2f\xfd', name: 'zstandard' },
  { kind: 'closed-archive', at: 0, bytes: 'MSCF', name: 'cabinet' },
  { kind: 'closed-archive', at: 7, bytes: '**ACE**', name: 'ace' },
  { kind: 'closed-archive', at: 2, bytes: '-lh', name: 'lha' },
  { kind: 'closed-archive', at: 0, bytes: '\x60\xea', name: 'arj' },
  { kind: 'tnef', at: 0, bytes: '\x78\x9f\x3e\x22', name: 'Outlook winmail.dat' },
];

/** Recognises a file. @param head the first `HEAD_BYTES` of the file, or the whole file if it is shorter. */
export function recogniseFile(head: Uint8Array): { kind: FileKind; name: string } {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, HEAD_BYTES)).toString('latin1');
  const known = MAGIC.find(({ at, bytes }) => text.startsWith(bytes, at));
  if (known) return { kind: known.kind, name: known.name };
  if (isWindowsProgram(text)) return { kind: 'program', name: 'Windows program' };
  if (
    /^(?:(?:received|return-path|from|to|subject|date|message-id|mime-version|delivered-to|x-[\w-]+): .*\r?\n(?:[ \t].*\r?\n)*){2}/i.test(
      text,
    )
  ) {
    return { kind: 'message', name: 'message' };
  }
  return { kind: 'other', name: '' };
}

/** Text may also begin with "MZ", as programs do. The header of a program has bytes that text never has. */
function isWindowsProgram(text: string): boolean {
  return text.startsWith('MZ') && text.length >= 64 && text.slice(2, 64).includes('\0');
}

/** Extensions of files that run on a double click on some common system. */
const DANGEROUS = new Set(
  `ade adp apk app appref-ms application appx appxbundle bat cab chm cmd com command cpl desktop diagcab dll dmg drv
  exe gadget hta img ins iso isp jar jnlp js jse lib library-ms lnk mde mht mhtml msc msh msi msix msixbundle msp mst
  nsh ocx one pif pkg ps1 ps1xml ps2 psc1 psd1 psm1 reg scf scpt scr sct search-ms settingcontent-ms shb shs slk sys
  url vb vbe vbs vhd vhdx vxd wsc wsf wsh xbap xll`.split(/\s+/),
);
const MACRO_DOCUMENTS = new Set('docm dotm xlsm xltm xlam pptm potm ppam ppsm sldm'.split(' '));
const HARMLESS_LOOKING = new Set(
  'pdf doc docx xls xlsx ppt pptx odt ods txt rtf jpg jpeg png gif bmp mp3 mp4 avi csv html htm zip eml'.split(' '),
);

export interface NameProblem {
  readonly rule: string;
  readonly text: string;
}

/** @returns what is wrong with a file's name; null if nothing is. */
export function judgeFileName(name: string): NameProblem | null {
  if (/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/u.test(name)) {
    return { rule: 'NAME_REVERSED', text: 'Its name has characters that change its displayed order' };
  }
  const plain = name
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .replace(/[\s.]+$/, '')
    .toLowerCase();
  const [extension = '', before = ''] = plain
    .split('.')
    .map((label) => label.trim())
    .reverse();
  if (!plain.includes('.')) return null;
  if (DANGEROUS.has(extension)) {
    return HARMLESS_LOOKING.has(before)
      ? { rule: 'DOUBLE_EXTENSION', text: `It looks like .${before} but runs as .${extension}` }
      : { rule: 'DANGEROUS_TYPE', text: `A file of type .${extension} can run as a program` };
  }
  if (/\.\{[0-9a-f-]{36}\}$/.test(plain)) return { rule: 'NAME_IS_CLASS', text: 'Its name ends in a class identifier' };
  if (MACRO_DOCUMENTS.has(extension))
    return { rule: 'OFFICE_MACRO', text: `A document of type .${extension} contains macros` };
  return null;
}
