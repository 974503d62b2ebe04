/**
 * Scans the parts of a message recursively, within limits that hold for any input. An archive bomb costs at most
 * `INFLATED_BYTES_MAX` of inflation and `HELD_BYTES_MAX` of memory. Beyond a limit, the verdict is `not_scanned`.
 */
import { Gunzip, Inflate } from 'fflate';
import { decodeContent } from '../../mime/content-decoding.ts';
import { FileInspector, type Inspection } from '../../mime/file-inspector.ts';
import { HEAD_BYTES, judgeFileName, recogniseFile } from '../../mime/file-type.ts';
import type { Cut } from '../../mime/lean-reader.ts';
import { type MimePart, type MimeTree, readMimeTree } from '../../mime/mime-tree.ts';
import { readTnef } from '../../mime/tnef.ts';
import { decodeUuencoded } from '../../mime/uuencode.ts';
import { BAD_FILES } from '../../mime/virus-signatures.ts';
import type { VirusReason, VirusVerdict } from '../verdicts.ts';
import { listTar } from './tar.ts';
import { listZip } from './zip.ts';

export const ARCHIVE_DEPTH_MAX = 5;
export const ARCHIVE_ENTRIES_MAX = 1_000;
export const INFLATED_BYTES_MAX = 100 * 1024 * 1024;
export const INFLATE_RATIO_MAX = 100;
/** Inflated size from which the ratio limit applies. Small files of zeros compress better than 100:1 and are harmless. */
const RATIO_COUNTS_FROM_BYTES = 1024 * 1024;
/** Maximum of memory for archives inside archives. These must be held in memory to be opened. */
const HELD_BYTES_MAX = 24 * 1024 * 1024;
/**
 * Bytes inflated per step. Deflate expands one byte to at most 1,032, so a step yields at most 4 MiB before the limits are checked.
 */
const INFLATE_STEP_BYTES = 4 * 1024;

type Severity = Exclude<VirusVerdict['verdict'], 'clean'>;
/** Severities, the worst first. */
export const SEVERITIES: readonly Severity[] = ['infected', 'blocked', 'not_scanned'];

/** Scans everything inside a message. @returns a verdict with a reason for each part that is not clean. */
export function scanMessage(raw: Uint8Array, tree = readMimeTree(raw)): Pick<VirusVerdict, 'verdict' | 'reasons'> {
  const scan = new Scan();
  scan.message(tree, [], 0);
  return scan.result();
}

/** Scans a message with cut parts. Cut parts that must be opened are held in memory one at a time. */
export async function scanOpened(
  tree: MimeTree,
  holdCut: (cut: Cut) => Promise<Uint8Array>,
): Promise<Pick<VirusVerdict, 'verdict' | 'reasons'>> {
  const scan = new Scan();
  scan.message(tree, [], 0);
  for (const { cut, part, path, depth } of scan.postponed) scan.content(await holdCut(cut), part, path, depth);
  return scan.result();
}

const PROBLEMS: Readonly<Record<NonNullable<MimeTree['problem']>, { rule: string; text: string }>> = {
  too_many_parts: { rule: 'TOO_MANY_PARTS', text: 'It has more parts than the limit' },
  too_deep: { rule: 'TOO_MANY_PARTS', text: 'Its parts are nested deeper than the limit' },
  header_too_large: { rule: 'HEADER_TOO_LARGE', text: 'A header is too large' },
  too_much_text: { rule: 'TOO_LARGE', text: 'It has more text than the limit' },
  header_ambiguous: { rule: 'HEADER_AMBIGUOUS', text: 'Conflicting headers describe a part' },
};

class LimitReached extends Error {}

class Scan {
  /** Cut parts that must be opened. They are opened last, one at a time. */
  readonly postponed: { cut: Cut; part: MimePart; path: readonly string[]; depth: number }[] = [];
  private readonly found: { severity: Severity; reason: VirusReason }[] = [];
  private entries = 0;
  private inflated = 0;
  private held = 0;

  result(): Pick<VirusVerdict, 'verdict' | 'reasons'> {
    const severities = new Set(this.found.map(({ severity }) => severity));
    return {
      verdict: SEVERITIES.find((severity) => severities.has(severity)) ?? 'clean',
      reasons: [...this.found]
        .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
        .map(({ reason }) => reason),
    };
  }

  message({ parts, problem }: MimeTree, path: readonly string[], depth: number): void {
    if (problem !== null) this.add('not_scanned', PROBLEMS[problem].rule, PROBLEMS[problem].text, path);
    for (const part of parts) this.part(part, path, depth);
  }

  private part(part: MimePart, path: readonly string[], depth: number): void {
    const inner = part.fileName === '' ? path : [...path, part.fileName];
    if (part.fileName !== '') this.name(part.fileName, inner);
    if (part.content.length === 0) return;
    if (!part.cut) {
      this.content(decodeContent(part), part, inner, depth);
      return;
    }
    const kind = recogniseFile(part.cut.inspection.head).kind;
    const isOpened = isContainer(kind) || kind === 'message' || /^(?:message|text)\//.test(part.type);
    if (isOpened) this.postponed.push({ cut: part.cut, part, path: inner, depth });
    else this.judge(part.cut.inspection, inner);
  }

  /** Scans the content of a part, after decoding it. */
  content(content: Uint8Array, part: MimePart, inner: readonly string[], depth: number): void {
    this.file(content, inner, depth, part.type.startsWith('message/'));
    if (!part.type.startsWith('text/')) return;
    const uuencoded = decodeUuencoded(content);
    if (!uuencoded.isWhole)
      this.add('not_scanned', 'TOO_MANY_FILES', 'It has more uuencoded files than the limit', inner);
    for (const file of uuencoded.files) {
      this.name(file.name, [...inner, file.name]);
      this.file(file.content, [...inner, file.name], depth, false);
    }
  }

  private file(content: Uint8Array, path: readonly string[], depth: number, isMessage: boolean): void {
    const inspector = new FileInspector();
    inspector.feed(content);
    const kind = this.judge(inspector.finish(), path);
    if (kind === 'message' || isMessage)
      this.nested(path, depth, () => this.message(readMimeTree(content), path, depth + 1));
    else if (isContainer(kind)) this.nested(path, depth, () => this.open(kind, content, path, depth + 1));
  }

  private nested(path: readonly string[], depth: number, open: () => void): void {
    if (depth >= ARCHIVE_DEPTH_MAX) {
      this.add('not_scanned', 'TOO_DEEP', `Archives or messages are nested deeper than ${ARCHIVE_DEPTH_MAX}`, path);
    } else open();
  }

  private open(kind: Container, content: Uint8Array, path: readonly string[], depth: number): void {
    if (kind === 'zip') this.zip(content, path, depth);
    else if (kind === 'tar') this.tar(content, path, depth);
    else if (kind === 'tnef') this.tnef(content, path, depth);
    else this.inflate(content, new Gunzip(), [...path, 'content'], depth);
  }

  private zip(content: Uint8Array, path: readonly string[], depth: number): void {
    const listing = listZip(content, ARCHIVE_ENTRIES_MAX - this.entries);
    if (!listing.ok) {
      this.add('not_scanned', 'DAMAGED_ARCHIVE', 'The zip archive is damaged', path);
      return;
    }
    if (!listing.isConsistent)
      this.add('not_scanned', 'DAMAGED_ARCHIVE', 'The zip archive contradicts its directory', path);
    for (const entry of listing.entries) {
      const inner = [...path, entry.name];
      if (!this.count(path)) return;
      this.name(entry.name, inner);
      if (/(?:^|\/)vbaProject\.bin$/i.test(entry.name))
        this.add('blocked', 'OFFICE_MACRO', 'The document contains macros', inner);
      if (entry.isFolder) continue;
      if (entry.isEncrypted) this.add('not_scanned', 'ENCRYPTED_ARCHIVE', 'It is encrypted', inner);
      else if (entry.method === 0) this.file(entry.content, inner, depth, false);
      else if (entry.method === 8) this.inflate(entry.content, new Inflate(), inner, depth);
      else
        this.add(
          'not_scanned',
          'UNKNOWN_COMPRESSION',
          `It uses an unsupported compression method (${entry.method})`,
          inner,
        );
    }
  }

  private tar(content: Uint8Array, path: readonly string[], depth: number): void {
    const listing = listTar(content, ARCHIVE_ENTRIES_MAX - this.entries);
    if (!listing.isWhole)
      this.add('not_scanned', 'DAMAGED_ARCHIVE', 'The tar archive is damaged or has too many files', path);
    for (const entry of listing.entries) {
      if (!this.count(path)) return;
      this.name(entry.name, [...path, entry.name]);
      this.file(entry.content, [...path, entry.name], depth, false);
    }
  }

  private tnef(content: Uint8Array, path: readonly string[], depth: number): void {
    const tnef = readTnef(content);
    if (!tnef?.isWhole) this.add('not_scanned', 'DAMAGED_ARCHIVE', 'The winmail.dat is damaged', path);
    for (const file of tnef?.files ?? []) {
      if (!this.count(path)) return;
      this.name(file.name, [...path, file.name]);
      this.file(file.content, [...path, file.name], depth, false);
    }
  }

  /**
   * Inflates an entry in small steps and inspects the bytes. Keeps them only if the entry is an archive that must itself be
   * opened.
   */
  private inflate(content: Uint8Array, stream: Inflate | Gunzip, path: readonly string[], depth: number): void {
    const inspector = new FileInspector();
    const kept: Uint8Array[] = [];
    let length = 0;
    stream.ondata = (chunk: Uint8Array) => {
      length += chunk.length;
      this.inflated += chunk.length;
      const isBomb = length > RATIO_COUNTS_FROM_BYTES && length > content.length * INFLATE_RATIO_MAX;
      if (isBomb || this.inflated > INFLATED_BYTES_MAX) throw new LimitReached();
      inspector.feed(chunk);
      if (inspector.firstBytes.length === HEAD_BYTES && !isArchiveToOpen(inspector.firstBytes)) {
        kept.length = 0;
        return;
      }
      if (this.held + length > HELD_BYTES_MAX) throw new LimitReached();
      kept.push(chunk);
    };
    try {
      for (let at = 0; at < content.length; at += INFLATE_STEP_BYTES) {
        const isLast = at + INFLATE_STEP_BYTES >= content.length;
        stream.push(content.subarray(at, at + INFLATE_STEP_BYTES), isLast);
      }
    } catch (error) {
      const isLimit = error instanceof LimitReached;
      this.add(
        'not_scanned',
        isLimit ? 'TOO_LARGE' : 'DAMAGED_ARCHIVE',
        isLimit ? 'It inflates to more than the limit' : 'It cannot be inflated',
        path,
      );
      if (isLimit) kept.length = 0;
    }
    const kind = this.judge(inspector.finish(), path);
    if (kept.length === 0) return;
    const whole = Buffer.concat(kept);
    kept.length = 0;
    this.held += whole.length;
    if (kind === 'message') this.nested(path, depth, () => this.message(readMimeTree(whole), path, depth + 1));
    else if (isContainer(kind)) this.nested(path, depth, () => this.open(kind, whole, path, depth + 1));
    this.held -= whole.length;
  }

  private count(path: readonly string[]): boolean {
    this.entries += 1;
    if (this.entries <= ARCHIVE_ENTRIES_MAX) return true;
    this.add('not_scanned', 'TOO_MANY_FILES', `More than ${ARCHIVE_ENTRIES_MAX} files in archives`, path);
    return false;
  }

  private judge(inspection: Inspection, path: readonly string[]) {
    const { kind, name } = recogniseFile(inspection.head);
    const known = BAD_FILES.get(inspection.sha256);
    if (known !== undefined) this.add('infected', 'KNOWN_FILE', known, path);
    if (inspection.found.has('eicar')) this.add('infected', 'EICAR', 'The EICAR test file', path);
    if (kind === 'program' || kind === 'shortcut') this.add('blocked', 'PROGRAM', `Its content is a ${name}`, path);
    if (kind === 'closed-archive')
      this.add('not_scanned', 'CLOSED_ARCHIVE', `Archives of type ${name} cannot be scanned`, path);
    if (kind === 'office' && inspection.found.has('macros'))
      this.add('blocked', 'OFFICE_MACRO', 'The document contains macros', path);
    if (kind === 'office' && inspection.found.has('encryptedDocument')) {
      this.add('not_scanned', 'ENCRYPTED_DOCUMENT', 'The document is encrypted', path);
    }
    return kind;
  }

  private name(name: string, path: readonly string[]): void {
    const problem = judgeFileName(name);
    if (problem !== null) this.add('blocked', problem.rule, problem.text, path);
  }

  /**
   * Adds a reason: at most one per rule and file, and ten per rule. A message with a thousand bad files therefore gets few
   * reasons.
   */
  private add(severity: Severity, rule: string, text: string, path: readonly string[]): void {
    const part = path
      .map((name) => name.slice(0, 200))
      .join('/')
      .slice(0, 1_000);
    const isKnown = this.found.some(({ reason }) => reason.rule === rule && reason.part === part);
    const ofRule = this.found.filter(({ reason }) => reason.rule === rule).length;
    if (!isKnown && ofRule < 10) this.found.push({ severity, reason: { rule, text, part } });
  }
}

type Container = 'zip' | 'gzip' | 'tar' | 'tnef';
const isContainer = (kind: string): kind is Container =>
  kind === 'zip' || kind === 'gzip' || kind === 'tar' || kind === 'tnef';

/** True if a file that begins with these bytes is an archive that must itself be opened. */
function isArchiveToOpen(head: Uint8Array): boolean {
  const { kind } = recogniseFile(head);
  return isContainer(kind) || kind === 'message';
}
