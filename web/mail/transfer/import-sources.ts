/**
 * What an import reads, from the files and folders that the user chose: mbox files, single messages and contacts. Archives, such as
 * those of Google Takeout, are read without being unpacked first. In a folder that Apple Mail exported, the mail is in the file
 * `mbox`.
 */
import { listZipEntries } from './zip-entries.ts';

export type SourceKind = 'mbox' | 'message' | 'contacts';

export interface ImportSource {
  readonly kind: SourceKind;
  readonly name: string;
  /** Where it is in its folder or archive. */
  readonly path: string;
  /** Bytes, when it is unpacked. */
  readonly size: number;
  /** Opens it at a position, after which an interrupted import continues. */
  open(offset: number): Promise<ReadableStream<Uint8Array>>;
}

const fileNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** @returns what a file is by its name; null if its name does not tell. */
function kindOf(path: string): SourceKind | null {
  const name = fileNameOf(path).toLowerCase();
  if (name.startsWith('.')) return null;
  if (name.endsWith('.eml')) return 'message';
  if (name.endsWith('.vcf')) return 'contacts';
  return name === 'mbox' || /\.mbo?x$/.test(name) ? 'mbox' : null;
}

/** Skips bytes of a stream. */
function skipBytes(count: number): TransformStream<Uint8Array, Uint8Array> {
  let left = count;
  return new TransformStream({
    transform(chunk, controller) {
      const rest = chunk.subarray(Math.min(left, chunk.length));
      left -= chunk.length - rest.length;
      if (rest.length > 0) controller.enqueue(rest);
    },
  });
}

async function readArchive(file: File): Promise<ImportSource[]> {
  const entries = await listZipEntries(file);
  return entries.flatMap((entry) => {
    const kind = kindOf(entry.name);
    if (kind === null) return [];
    const open = async (offset: number) => (await entry.open()).pipeThrough(skipBytes(offset));
    return [{ kind, name: fileNameOf(entry.name), path: entry.name, size: entry.size, open }];
  });
}

function toSource(file: File, kind: SourceKind): ImportSource {
  const open = async (offset: number): Promise<ReadableStream<Uint8Array>> => file.slice(offset).stream();
  return { kind, name: file.name, path: file.webkitRelativePath || file.name, size: file.size, open };
}

/**
 * Lists what is in files. A file that was chosen alone is an mbox file if its name tells nothing: those of Thunderbird have no
 * extension. In a folder and in an archive, such files are left out.
 */
export async function listSources(files: readonly File[]): Promise<ImportSource[]> {
  const found = await Promise.all(
    files.map(async (file) => {
      if (/\.zip$/i.test(file.name) || file.type === 'application/zip') return readArchive(file);
      const isInFolder = Boolean(file.webkitRelativePath);
      const named = file.type === 'message/rfc822' ? 'message' : kindOf(file.name);
      const kind = named ?? (isInFolder ? null : 'mbox');
      return kind === null ? [] : [toSource(file, kind)];
    }),
  );
  return found.flat();
}
