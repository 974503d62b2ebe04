/** Reads the API document from the built Worker, and generates TypeScript types from it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildAll, ROOT } from '../local/build.ts';
import { toStoredDocument } from './api-document.ts';

export const TYPES_PATH = join(ROOT, 'clients/javascript/api.generated.ts');

/** Builds and starts the Worker on a free port, and reads `/v1/openapi.json`. Takes about ten seconds. */
export async function readServedDocument(): Promise<string> {
  const { startLocalServer } = await import('../local/local-server.ts');
  buildAll();
  const stateDirectory = mkdtempSync(join(tmpdir(), 'tessera-api-document-'));
  const vars = { LOCAL: '1', ROOT_TOKEN: 'root', MASTER_KEY: Buffer.alloc(32).toString('base64') };
  const log: string[] = [];
  const printLog = (message: string): void => void log.push(message);
  const server = await startLocalServer({ host: '127.0.0.1', port: 0, stateDirectory, vars, printLog });
  try {
    const answer = await fetch(`${server.url}/v1/openapi.json`);
    if (!answer.ok) throw new Error(`/v1/openapi.json answered ${answer.status}\n${log.join('\n')}`);
    return toStoredDocument((await answer.json()) as Record<string, unknown>);
  } finally {
    await server.stop();
    rmSync(stateDirectory, { recursive: true, force: true });
  }
}

const HEADER = `/**
 * Types of Tessera's JSON APIs, made from /v1/openapi.json by \`npm run generate\`. Do not edit.
 *
 * Every schema is a type. Every operation is a namespace inside \`V1\` with its parameters, its body and its answer.
 */
`;

/** Generates the types of a document as it is stored. @returns the text of a TypeScript module without imports. */
export async function toTypes(document: Record<string, unknown>): Promise<string> {
  // The OpenAPI type generator is imported only when needed, because loading it takes seconds.
  const { generateApi } = await import('swagger-typescript-api');
  const { files } = await generateApi({
    spec: document as never,
    fileName: 'api.ts',
    output: false,
    silent: true,
    generateClient: false,
    generateRouteTypes: true,
  });
  const text = files.map(({ fileContent }) => fileContent).join('\n');
  // The generator turns off linting and type checks in its output. Remove those lines, so that types that do not compile are
  // reported.
  return HEADER + text.replace(/^(?:\s*\/[/*] *(?:eslint|tslint|@ts-nocheck)[^\n]*\n)*\s*\/\*[\s\S]*?\*\/\n/, '');
}
