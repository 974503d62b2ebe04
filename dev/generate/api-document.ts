/** The API document of this version, and those of releases. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ROOT } from '../local/build.ts';

/** Where `npm run generate` and the long tests write the document. It is not in git, because the routes make it. */
export const DOCUMENT_PATH = join(ROOT, 'dist/openapi.json');

/** What is kept of each release, in a folder with its version: the API document, the objects and the list of packages. */
export const RELEASES = join(ROOT, 'migrations/releases');

/** Versions whose document is kept, oldest first. */
export const listReleases = (): string[] =>
  readdirSync(RELEASES)
    .filter((version) => existsSync(join(RELEASES, version, 'openapi.json.gz')))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** Reads the document of a release. @throws Error if none is kept. */
export const readReleasedDocument = (version: string): string =>
  gunzipSync(readFileSync(join(RELEASES, version, 'openapi.json.gz'))).toString('utf8');

/** Makes the document to store: removes the parts that depend on the queried server, and adds a final line end. */
export function toStoredDocument(served: Readonly<Record<string, unknown>>): string {
  const { servers: _, ...document } = served;
  return `${JSON.stringify(document, null, 1)}\n`;
}
