/** Files and whole folders from a drop or a file chooser, each with its path. */
export interface NamedFile {
  name: string;
  file: File;
}

const toFile = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject));

/** A directory reader returns entries in batches. An empty batch is the last. */
async function childrenOf(entry: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = entry.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return all;
    all.push(...batch);
  }
}

async function walk(entry: FileSystemEntry, path: string): Promise<NamedFile[]> {
  const name = path + entry.name;
  if (entry.isFile) return [{ name, file: await toFile(entry as FileSystemFileEntry) }];
  const nested = await Promise.all(
    (await childrenOf(entry as FileSystemDirectoryEntry)).map((child) => walk(child, `${name}/`)),
  );
  return nested.flat();
}

export async function filesOfDrop(transfer: DataTransfer): Promise<NamedFile[]> {
  // Read the items before the first await: the browser empties the list afterwards.
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  return (await Promise.all(entries.map((entry) => walk(entry, '')))).flat();
}

/** A file of a chosen folder has its path below that folder. */
export const toNamedFile = (file: File): NamedFile => ({ name: file.webkitRelativePath || file.name, file });
