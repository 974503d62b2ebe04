/** The API document that is stored in clients/typescript. */
import { join } from 'node:path';
import { ROOT } from '../local/build.ts';

export const DOCUMENT_PATH = join(ROOT, 'clients/typescript/openapi.json');

/** Makes the document to store: removes the parts that depend on the queried server, and adds a final line end. */
export function toStoredDocument(served: Readonly<Record<string, unknown>>): string {
  const { servers: _, ...document } = served;
  return `${JSON.stringify(document, null, 1)}\n`;
}
