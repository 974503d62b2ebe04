/**
 * Virus check: known signatures, executable types, and archives opened within limits; plus ClamAV if configured. The worse of both
 * verdicts counts.
 *
 * Gaps: rar, 7z, bzip2, xz and similar archives are not opened (verdict `not_scanned`). PDF and OLE objects inside documents are
 * not opened either.
 */
import { ok, type Result } from '../../../shared/pure/result.ts';
import { type CheckDependencies, type CheckSettings, readScannerTimeoutMs } from '../dependencies.ts';
import type { OpenedMessage } from '../opened-message.ts';
import { holdCut } from '../opened-message.ts';
import type { Deferred, VirusVerdict } from '../verdicts.ts';
import { scanWithClamd } from './clamd.ts';
import { SEVERITIES, scanOpened } from './scanner.ts';

export async function checkVirus(
  message: OpenedMessage,
  settings: CheckSettings,
  dependencies: Pick<CheckDependencies, 'connect'>,
): Promise<Result<VirusVerdict, Deferred>> {
  const own = await scanOpened(message.tree, (cut) => holdCut(message, cut));
  // ClamAV is not queried if the built-in check finds an infection.
  if (!settings.CLAMD_ADDRESS || own.verdict === 'infected') return ok({ ...own, engine: 'built-in' });
  const timeoutMs = readScannerTimeoutMs(settings);
  const answer = await scanWithClamd(
    await message.readPieces(),
    settings.CLAMD_ADDRESS,
    dependencies.connect,
    timeoutMs,
  );
  if (!answer.ok) return answer;
  const reasons = [...answer.value.reasons, ...own.reasons];
  const verdict = SEVERITIES.find((one) => one === own.verdict || one === answer.value.verdict) ?? 'clean';
  return ok({ verdict, reasons, engine: 'clamd' });
}
