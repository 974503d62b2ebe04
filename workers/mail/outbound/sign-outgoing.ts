/** Prepares the outgoing bytes: prepends DKIM signatures and, on forwards, a trace header. */
import type { OutboxJob } from '../../../durable-objects/mail/contract/outbox.ts';

import { openSecret } from '../../identity/index.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { getBlob, inLargePieces } from '../bindings/blobs.ts';
import { listAuthorDomains } from '../checks/authentication/dmarc.ts';
import type { DkimAlgorithm, DkimKey } from '../dkim/sign.ts';
import { signMessage } from '../dkim/sign.ts';
import { readDomainSettings } from '../domains/hosted-domains.ts';
import { dkimKeyContext } from '../domains/sealed-secrets.ts';
import { parseAddressList } from '../mime/addresses.ts';
import { readHeaders } from '../mime/mime-tree.ts';

/** Bytes of a message that are read for its header. They are enough for any header. */
const START_BYTES_MAX = 1024 * 1024;

/** Marks a message that gets no signature. Stored in place of its body hash. */
export const UNSIGNED = '';

export interface SignedMessage {
  /** Address of the field From; empty if it has none. */
  readonly author: string;
  readonly sizeBytes: number;
  readonly openBody: () => Promise<ReadableStream<Uint8Array>>;
}

export interface Signer {
  /** Signs a message. @returns null when the stored message is missing. */
  sign(job: OutboxJob): Promise<SignedMessage | null>;
}

export function createSigner(env: Env): Signer {
  const keys = new Map<string, Promise<DkimKey[]>>();
  const readKeysOnce = (domain: string): Promise<DkimKey[]> => {
    const known = keys.get(domain) ?? readKeys(env, domain);
    keys.set(domain, known);
    return known;
  };
  return {
    async sign(job) {
      const start = await readStart(env, job.rawKey);
      if (!start) return null;
      const end = start.indexOf('\r\n\r\n');
      const header = start.subarray(0, end === -1 ? start.length : end + 2);
      const now = createClock(env)();
      // Signs for the domain of From, which DMARC checks. A forward with a foreign From is signed for its envelope sender's domain.
      const { headers } = readHeaders(header);
      const [from] = listAuthorDomains(headers);
      const envelope = job.envelopeFrom.slice(job.envelopeFrom.lastIndexOf('@') + 1);
      const own = from && job.bodyHash !== UNSIGNED ? await readKeysOnce(from) : [];
      const isOfOther = own.length === 0 && envelope !== '' && job.bodyHash !== UNSIGNED;
      const signers = isOfOther ? await readKeysOnce(envelope.toLowerCase()) : own;
      const signatures = await signMessage(header, job.bodyHash, signers, now);
      const prefix = Buffer.from(signatures, 'latin1');
      return {
        author: parseAddressList(headers.find(({ name }) => name === 'from')?.value ?? '')[0]?.email ?? '',
        sizeBytes: prefix.length + job.sizeBytes,
        openBody: async () => {
          if (start.length === job.sizeBytes) return new Blob([prefix, start]).stream();
          const stored = await getBlob(env, job.rawKey);
          if (!stored) throw new Error('the stored message is missing');
          return prepend(prefix, stored.body);
        },
      };
    },
  };
}

async function readKeys(env: Env, domain: string): Promise<DkimKey[]> {
  const { keys } = await readDomainSettings(env, domain);
  return keys.map(({ selector, algorithm, privateKeySealed }) => {
    const opened = openSecret(privateKeySealed, dkimKeyContext(domain, selector), env);
    if (!opened.ok) throw new Error(`the DKIM key ${selector} of ${domain} cannot be unsealed: ${opened.error.kind}`);
    return { domain, selector, algorithm: algorithm as DkimAlgorithm, privateKey: opened.value };
  });
}

/** Reads the beginning of a message, or all of a small one. */
async function readStart(env: Env, key: string): Promise<Buffer<ArrayBuffer> | null> {
  const stored = await getBlob(env, key, { offset: 0, length: START_BYTES_MAX });
  return stored && Buffer.from(await stored.arrayBuffer());
}

function prepend(prefix: Uint8Array, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = inLargePieces(body);
  let isFirst = prefix.length > 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (isFirst) {
        isFirst = false;
        controller.enqueue(prefix);
        return;
      }
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => {
      await pieces.return(undefined);
    },
  });
}
