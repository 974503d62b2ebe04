/**
 * Does it carry a virus? Known signatures, types that run, archives opened within limits; ClamAV on top when it is configured: the
 * worse of both counts.
 *
 * Gaps: rar, 7z, bzip2, xz and the like are not opened by us ("not scanned"), nor are PDF and OLE objects inside documents.
 */
import { ok, type Result } from '../../../shared/result.ts';
import type { CheckDependencies, CheckSettings } from '../dependencies.ts';
import type { MimeTree } from '../mime-tree.ts';
import type { Deferred, VirusVerdict } from '../verdicts.ts';
import { askClamd } from './clamd.ts';
import { SEVERITIES, scanMessage } from './scanner.ts';

export async function checkVirus(
  message: { readonly raw: Uint8Array; readonly tree: MimeTree },
  settings: CheckSettings,
  dependencies: Pick<CheckDependencies, 'connect'>,
): Promise<Result<VirusVerdict, Deferred>> {
  const own = scanMessage(message.raw, message.tree);
  // What our own check already knows to be bad needs no second opinion, and no daemon that is up.
  if (!settings.CLAMD_ADDRESS || own.verdict === 'infected') return ok({ ...own, engine: 'built-in' });
  const answer = await askClamd(message.raw, settings.CLAMD_ADDRESS, dependencies.connect);
  if (!answer.ok) return answer;
  const reasons = [...answer.value.reasons, ...own.reasons];
  const verdict = SEVERITIES.find((one) => one === own.verdict || one === answer.value.verdict) ?? 'clean';
  return ok({ verdict, reasons, engine: 'clamd' });
}
