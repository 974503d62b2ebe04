/** The settings of storage, a part of `settings-schema.ts`. */
import { isRegionList } from '../pure/nearest-locations.ts';
import { choice, flag, httpUrl, number, optionalNumber, text, token } from './setting-types.ts';

const isS3Url = (value: string): boolean => /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[\w.-]+)*\/?$/.test(value);
const isHeaderName = (value: string): boolean => /^[!#$%&'*+.^`|~\w-]+$/.test(value);

export const storageSettings = {
  RAW_TARGET_HEADER: text(
    {
      group: 'Storage',
      meaning:
        'Header that a Transform Rule sets to `raw.http.request.uri`. The header is trusted only if it is named here.',
    },
    'the name of an HTTP header',
    isHeaderName,
  ),
  MAX_BUCKETS_PER_USER: number({
    group: 'Storage',
    unit: 'buckets',
    min: 1,
    max: 1_000_000,
    fallback: 1000,
    meaning: 'Buckets that one user may own.',
  }),
  WEBSITE_SCRIPTS: flag({
    group: 'Storage',
    fallback: false,
    meaning:
      'Lets pages at `bucket.S3_HOST` run scripts and send forms. `npm run deploy` turns it on if S3_HOST has another registrable domain than APP_HOST.',
  }),
  OWN_ACCESS_KEYS: flag({
    group: 'Storage',
    fallback: true,
    meaning: 'Lets users of mail create access keys for storage. If it is off, only the operator creates keys.',
  }),
  WRITE_QUORUM: optionalNumber({
    group: 'Storage',
    unit: 'locations',
    min: 2,
    max: 16,
    fallback: 'every location',
    meaning:
      'Locations that must have the bytes of an upload before it is acknowledged. Missing copies are made in the background. At most the number of bound locations.',
  }),
  SMALL_COPIES: choice(['minute', 'now'], {
    group: 'Storage',
    fallback: 'minute',
    meaning:
      'When an upload of up to 16 KiB is in R2: within a minute, or before it is acknowledged. `now` writes it to `WRITE_QUORUM` locations at once, which costs two R2 writes more.',
  }),
  S3_LOCATION: text(
    {
      group: 'Storage',
      meaning:
        'Bucket of another provider, and a prefix in it, that gets a copy of everything in the locations. Empty: there is none.',
    },
    's3://bucket or s3://bucket/prefix',
    isS3Url,
  ),
  S3_LOCATION_ENDPOINT: httpUrl({
    group: 'Storage',
    meaning: 'S3 endpoint of S3_LOCATION, such as `https://s3.eu-central-1.amazonaws.com`.',
  }),
  S3_LOCATION_REGION: text(
    { group: 'Storage', fallback: 'us-east-1', meaning: 'Region in the signatures of requests to S3_LOCATION.' },
    'letters, digits and dashes',
    (value) => /^[\w-]{1,64}$/.test(value),
  ),
  S3_LOCATION_KEY_ID: token({ group: 'Storage', isSecret: true, meaning: 'Access key of S3_LOCATION.' }),
  S3_LOCATION_SECRET: token({ group: 'Storage', isSecret: true, meaning: 'Secret of the access key of S3_LOCATION.' }),
  S3_LOCATION_DELETE_DAYS: number({
    group: 'Storage',
    unit: 'days',
    min: 1,
    max: 3_650,
    fallback: 30,
    meaning: 'Days for which S3_LOCATION keeps what the other locations deleted.',
  }),
  LOCATION_REGIONS: text(
    {
      group: 'Storage',
      meaning:
        'Regions of the locations, in their order. Reads begin with the one nearest to the client. `npm run deploy` sets it. Empty: the order of the bindings.',
    },
    'regions (wnam, enam, weur, eeur, apac, oc), separated by commas',
    isRegionList,
  ),
  SCRUB_DAYS: number({
    group: 'Storage',
    unit: 'days',
    min: 1,
    max: 365,
    fallback: 30,
    meaning: 'Time within which every stored copy is read again and checked.',
  }),
  EDGE_CACHE_SECONDS: number({
    group: 'Storage',
    unit: 'seconds',
    min: 0,
    max: 86_400,
    fallback: 86_400,
    meaning:
      'How long the caches of data centres may keep stored bytes, deleted ones included. 0: no bytes are cached.',
  }),
  LIFECYCLE_DAY_SECONDS: number({
    group: 'Storage',
    unit: 'seconds',
    min: 1,
    max: 86_400,
    fallback: 86_400,
    meaning: 'Length of a day of lifecycle rules, for tests. A shorter day makes `npm start` run cron more often.',
    isLocal: true,
  }),
  ALLOW_SIGV2: flag({
    group: 'Storage',
    fallback: true,
    meaning: 'Accepts presigned links and forms that are signed with Signature Version 2.',
  }),
};
