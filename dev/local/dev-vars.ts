import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/**
 * Reads `.dev.vars`. If the file is missing, creates it from `.dev.vars.example` with random secrets. Never changes an
 * existing file.
 * @returns the variables, and whether this call created the file.
 */
export function readDevVars(path: string, examplePath: string): { vars: Record<string, string>; isNew: boolean } {
  const isNew = !existsSync(path);
  if (isNew) {
    const secrets: Record<string, string> = {
      ROOT_TOKEN: `root_${randomBytes(24).toString('base64url')}`,
      MASTER_KEY: randomBytes(32).toString('base64'),
    };
    const text = readFileSync(examplePath, 'utf8').replace(/^(\w+)=$/gm, (line, name: string) =>
      name in secrets ? `${name}=${secrets[name]}` : line,
    );
    writeFileSync(path, text, { mode: 0o600 });
  }
  return { vars: parseEnv(readFileSync(path, 'utf8')) as Record<string, string>, isNew };
}
