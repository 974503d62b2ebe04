/**
 * `npm run sbom`: writes `dist/sbom.cdx.json`, the software bill of materials (CycloneDX) of package-lock.json. It lists development
 * packages too, because the web app bundles some of them. Time, serial number and tool are left out, so that the file changes
 * only with the packages. A release keeps it. A test compares it with package-lock.json.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const NAME = 'tessera';

interface Sbom {
  serialNumber?: string;
  metadata: { timestamp?: string; tools?: unknown; component: { name: string } };
}

/** Makes the list. It reads package-lock.json only. */
export function toSbom(): string {
  const output = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const sbom = JSON.parse(output) as Sbom;
  delete sbom.serialNumber;
  delete sbom.metadata.timestamp;
  delete sbom.metadata.tools;
  // Set the name of the package: npm writes the name of the folder.
  sbom.metadata.component.name = NAME;
  return toLines(sbom);
}

/** Writes one line per package, so that a change of packages gives a short diff. */
function toLines(document: object): string {
  const members = Object.entries(document).map(([name, value]) => {
    const isList = Array.isArray(value);
    const lines = isList ? value.map((each) => `\n  ${JSON.stringify(each)}`).join(',') : JSON.stringify(value);
    return ` ${JSON.stringify(name)}: ${isList ? `[${lines}\n ]` : lines}`;
  });
  return `{\n${members.join(',\n')}\n}\n`;
}

if (import.meta.main) {
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  writeFileSync(join(ROOT, 'dist/sbom.cdx.json'), toSbom());
}
