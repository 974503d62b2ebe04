import {
  count,
  days,
  defaultOf,
  gib,
  kib,
  mib,
  numberIn,
  numberOf,
  type PageClaims,
  seconds,
  tib,
  word,
} from '../../../support/claims.ts';

const ENGINE = 'workers/storage/engine';
const FAILURES = 'workers/storage/s3/protocol/engine-failures.ts';
const limit = (name: string) => numberOf(`${ENGINE}/model/context.ts`, name);
const link = (name: string) => numberOf('workers/storage/operator/share-links.ts', name);
const webhook = (name: string) => numberOf('workers/shared/json/webhook.ts', name);
const xml = (name: string) => numberOf('workers/storage/s3/protocol/xml-parser.ts', name);
const TEMPORARY_MINUTES = numberOf('workers/identity/secrets/temporary-keys.ts', 'TEMPORARY_SECONDS_MAX') / 60;

export const STORAGE: PageClaims = {
  page: 'docs/storage.md',
  claims: [
    // Guarantees
    `Objects of at most ${kib(limit('inlineBytesMax'))} KiB are committed with their bytes in D1`,
    `An object of at most ${kib(limit('inlineBytesMax'))} KiB is in the locations when its upload is a minute old`,
    `the request waits ${word(seconds(limit('earlyCopyWaitMs')))} seconds, then answers 503`,
    `It is of the first ${numberOf(`${ENGINE}/store/read-store.ts`, 'FIRST_EXTENTS')} extents`,
    `An object of at most ${kib(limit('inlineBytesMax'))} KiB is compared when it is packed`,
    `back to the oldest of ${word(numberOf('workers/storage/maintenance/snapshot.ts', 'KEPT'))} daily snapshots`,
    `All copies are read again within \`SCRUB_DAYS\` (${defaultOf('SCRUB_DAYS')}).`,
    // Limits
    `| object, part | ${tib(numberOf(FAILURES, 'OBJECT_BYTES_MAX'))} TiB, ${gib(numberOf(FAILURES, 'PUT_BYTES_MAX'))} GiB; ${count(numberOf(FAILURES, 'PART_NUMBER_MAX'))} parts; parts of at least ${mib(numberOf(FAILURES, 'PART_BYTES_MIN'))} MiB except the last |`,
    `| PUT in one request | ${gib(numberOf(FAILURES, 'PUT_BYTES_MAX'))} GiB, and the request body of your Cloudflare plan (100 MB on Free and Pro) |`,
    `| key | ${count(numberOf('workers/storage/domain/naming.ts', 'KEY_BYTES_MAX'))} bytes of UTF-8 |`,
    `| user metadata | ${kib(numberOf('workers/storage/s3/objects/object-headers.ts', 'USER_METADATA_BYTES_MAX'))} KiB of UTF-8;`,
    `| buckets per user | ${count(defaultOf('MAX_BUCKETS_PER_USER'))} (\`MAX_BUCKETS_PER_USER\`) |`,
    `| requests per ${numberOf('workers/shared/json/request-rates.ts', 'periodSeconds')} seconds | ${count(defaultOf('REQUESTS_PER_ACCESS_KEY'))} per access key (\`REQUESTS_PER_ACCESS_KEY\`), ${count(defaultOf('REQUESTS_PER_BUCKET'))} per bucket (\`REQUESTS_PER_BUCKET\`), ${count(defaultOf('REQUESTS_PER_CLIENT'))} per client without a credential (\`REQUESTS_PER_CLIENT\`)`,
    `| document of a request | ${kib(numberOf('workers/storage/s3/bodies/document-body.ts', 'DOCUMENT_BYTES_MAX'))} KiB, ${count(xml('valuesMax'))} elements and attributes, ${xml('depthMax')} levels`,
    `Lists of parts and of keys to delete: ${mib(numberOf('workers/storage/s3/bodies/document-body.ts', 'LIST_BYTES_MAX'))} MiB |`,
    `| link | ${days(numberOf('workers/identity/domain/sigv4-credentials.ts', 'PRESIGNED_SECONDS_MAX') * 1_000)} days |`,
    `| bucket | ${numberOf('workers/storage/domain/slots.ts', 'SLOT_COUNT')} slots, each of at most one database: about ${(numberOf('workers/storage/domain/slots.ts', 'SLOT_COUNT') * 10) / 1_024} TB of metadata |`,
    // Guide
    `It lives 1 to ${TEMPORARY_MINUTES} minutes (default ${numberIn('workers/identity/users/temporary-key-requests.ts', /default\((\d+)\)/)})`,
    `It works for ${days(link('USUAL_MS'))} days, or until \`expires_at\` (at most a year)`,
    `approximate beyond a hundred`,
    `${numberOf('workers/storage/operator/link-password.ts', 'max')} guesses in ten minutes.`,
    `greatest age in seconds (1 to ${count(numberOf('workers/storage/s3/public-cache.ts', 'SECONDS_MAX'))})`,
    `of at most ${mib(numberOf('workers/storage/s3/public-cache.ts', 'BYTES_MAX'))} MiB and without \`Content-Encoding\``,
    `\`changes\` the first ${numberOf('workers/storage/domain/jobs.ts', 'LISTED_MAX')}.`,
    `\`obstacles\` lists the first ${numberOf('workers/storage/domain/jobs.ts', 'LISTED_MAX')} objects that stay as they are`,
    `Rows of ended jobs are kept for ${days(numberOf(`${ENGINE}/store/job-store.ts`, 'RETENTION_MS'))} days`,
    `At most ${numberOf(`${ENGINE}/store/job-store.ts`, 'OPEN_MAX')} jobs of a user are open at a time.`,
    `A message that is not answered with 2xx within ${seconds(webhook('TIMEOUT_MS'))} seconds is sent again after ${seconds(webhook('RETRY_MS_MIN'))} seconds, then after longer waits up to an hour, and dropped after ${word(days(webhook('WEBHOOK_AGE_MS_MAX')))} days`,
    `UploadPartCopy with a range over ${mib(numberOf(`${ENGINE}/actions/upload-parts.ts`, 'MD5_RANGE_BYTES_MAX'))} MiB gets an ETag`,
  ],
};
