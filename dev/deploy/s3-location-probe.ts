/**
 * Tries what a copy outside Cloudflare needs of its S3 server, before a deployment changes anything.
 */
import {
  OWN_PREFIX,
  S3Location,
  type S3LocationAddress,
  S3LocationError,
} from '../../workers/shared/s3-location/client.ts';
import { DeployError } from './cloudflare-api.ts';
import type { DeploySettings } from './settings.ts';

const PROBES = `${OWN_PREFIX}probe/`;
/** Keys in the order of UTF-8, which differs from that of letters without case, and from that of folders. */
const ORDERED = ['A', 'B', 'a', 'a-b', 'a/b', 'b'];
const BYTES = '0123456789';
const MD5 = '781e5e245d69b566979b86e28d23f2c7';
const WRONG_MD5 = '00000000000000000000000000000000';

type Probe = (location: S3Location) => Promise<boolean>;

/** Requirements, each under the name that a refusal prints. They are tried in this order. */
const NEEDS: readonly (readonly [name: string, probe: Probe])[] = [
  [
    'PutObject with the right Content-MD5',
    (location) => location.put(`${PROBES}a`, BYTES, { md5: MD5, description: 'described' }),
  ],
  [
    'refusal of bytes with another Content-MD5',
    (location) =>
      location.put(`${PROBES}b`, BYTES, { md5: WRONG_MD5 }).then(
        () => false,
        (error: unknown) => error instanceof S3LocationError && error.status === 400,
      ),
  ],
  [
    'user metadata (x-amz-meta-)',
    async (location) => (await location.get(`${PROBES}a`))?.headers.get('x-amz-meta-tessera') === 'described',
  ],
  ['range reads', async (location) => (await (await location.get(`${PROBES}a`, 'bytes=2-4'))?.text()) === '234'],
  [
    'ListObjectsV2 with start-after, in the order of UTF-8',
    async (location) => {
      for (const key of ORDERED) await location.put(PROBES + key, key);
      const { objects } = await location.list(`${PROBES}A`, PROBES);
      return objects.map(({ key }) => key.slice(PROBES.length)).join() === ORDERED.slice(1).join();
    },
  ],
  [
    'conditional PutObject (If-None-Match: *)',
    async (location) => !(await location.put(`${PROBES}a`, 'x', { onlyIfNew: true })),
  ],
  [
    'multipart uploads',
    async (location) => {
      await location.putInParts(`${PROBES}parts`, [BYTES]);
      return (await location.getText(`${PROBES}parts`)) === BYTES;
    },
  ],
];

/** @returns the names of what the server lacks. @throws if it does not answer, or refuses the credential. */
export async function findMissingAbilities(location: S3Location): Promise<string[]> {
  const missing: string[] = [];
  await location.list('', PROBES, 1);
  for (const [name, probe] of NEEDS) if (!(await probe(location).catch(() => false))) missing.push(name);
  for (const key of [...ORDERED, 'parts']) await location.delete(PROBES + key).catch(() => {});
  return missing;
}

/** @throws DeployError if the S3 location of the settings lacks something. Does nothing without one, or if its credential is not given. */
export async function refuseUnableS3Location({ variables, secrets }: DeploySettings): Promise<void> {
  const { S3_LOCATION: url, S3_LOCATION_ENDPOINT: endpoint, S3_LOCATION_REGION: region = 'us-east-1' } = variables;
  const { S3_LOCATION_KEY_ID: accessKeyId, S3_LOCATION_SECRET: secretAccessKey } = secrets;
  if (!url) return;
  if (!endpoint) throw new DeployError('S3_LOCATION needs S3_LOCATION_ENDPOINT. Nothing was changed.');
  if (!accessKeyId || !secretAccessKey) {
    console.log('The S3 location is not tried, because S3_LOCATION_KEY_ID and S3_LOCATION_SECRET are not given here.');
    return;
  }
  const address: S3LocationAddress = { url, endpoint, region, accessKeyId, secretAccessKey };
  const missing = await findMissingAbilities(new S3Location(address)).catch((error: unknown) => {
    throw new DeployError(`The S3 location cannot be used: ${(error as Error).message}. Nothing was changed.`);
  });
  if (missing.length > 0)
    throw new DeployError(`The server of the S3 location lacks: ${missing.join('; ')}. Nothing was changed.`);
}
