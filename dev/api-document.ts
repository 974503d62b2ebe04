/** The API document that clients/typescript holds. */
import { join } from 'node:path';
import { ROOT } from './build.ts';

export const DOCUMENT_PATH = join(ROOT, 'clients/typescript/openapi.json');

/** Removes what depends on the server that was asked, and ends with a line end. */
export function toStoredDocument(served: Readonly<Record<string, unknown>>): string {
  const { servers: _, ...document } = served;
  return `${JSON.stringify(document, null, 1)}\n`;
}
