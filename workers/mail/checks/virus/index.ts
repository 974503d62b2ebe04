/**
 * Does it carry a virus? Known signatures, types that run, archives opened within limits; ClamAV on top when it is configured: the
 * worse of both counts.
 *
 * Gaps: rar, 7z, bzip2, xz and the like are not opened by us ("not scanned"), nor are PDF and OLE objects inside documents.
 */
import { ok, type Result } from '../../../shared/result.ts';
import { type CheckDependencies, type CheckSettings, readScannerTimeoutMs } from '../dependencies.ts';
import type { OpenedMessage } from '../opened-message.ts';
import { holdCut } from '../opened-message.ts';
import type { Deferred, VirusVerdict } from '../verdicts.ts';
import { askClamd } from './clamd.ts';
import { SEVERITIES, scanOpened } from './scanner.ts';

export async function checkVirus(
  message: OpenedMessage,
  settings: CheckSettings,
  dependencies: Pick<CheckDependencies, 'connect'>,
): Promise<Result<VirusVerdict, Deferred>> {
  const own = await scanOpened(message.tree, (cut) => holdCut(message, cut));
  // What our own check already knows to be bad needs no second opinion, and no daemon that is up.
  if (!settings.CLAMD_ADDRESS || own.verdict === 'infected') return ok({ ...own, engine: 'built-in' });
  const timeoutMs = readScannerTimeoutMs(settings);
  const answer = await askClamd(await message.readPieces(), settings.CLAMD_ADDRESS, dependencies.connect, timeoutMs);
  if (!answer.ok) return answer;
  const reasons = [...answer.value.reasons, ...own.reasons];
  const verdict = SEVERITIES.find((one) => one === own.verdict || one === answer.value.verdict) ?? 'clean';
  return ok({ verdict, reasons, engine: 'clamd' });
}
