/** Commands and programs that work when pasted: they store an object in the bucket and list it. Pure. */
import type { Key } from './s3.ts';

export type Tool = 'aws' | 'rclone' | 'boto3' | 'js';
export const TOOLS: readonly Tool[] = ['aws', 'rclone', 'boto3', 'js'];

const REGION = 'us-east-1';

/** Quotes a text for a shell. Generated secrets have only characters that need no quotes, but imported ones may have others. */
const shell = (text: string): string => (/^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const quoted = (text: string): string => JSON.stringify(text);

const awsEnvironment = ({ accessKeyId, secretAccessKey }: Key): string[] => [
  `export AWS_ACCESS_KEY_ID=${shell(accessKeyId)}`,
  `export AWS_SECRET_ACCESS_KEY=${shell(secretAccessKey)}`,
  `export AWS_DEFAULT_REGION=${REGION}`,
];

export const createBucketCommand = (key: Key): string =>
  [...awsEnvironment(key), `aws --endpoint-url ${shell(key.endpoint)} s3 mb s3://my-first-bucket-$RANDOM`].join('\n');

export const uploadCommand = (key: Key, bucket: string, prefix: string): string =>
  [
    ...awsEnvironment(key),
    "echo 'Hello' > hello.txt",
    `aws --endpoint-url ${shell(key.endpoint)} s3 cp hello.txt ${shell(`s3://${bucket}/${prefix}`)}`,
  ].join('\n');

const WRITERS: Record<Tool, (key: Key, bucket: string) => string[]> = {
  aws: (key, bucket) => [
    ...awsEnvironment(key),
    "echo 'Hello' > hello.txt",
    `aws --endpoint-url ${shell(key.endpoint)} s3 cp hello.txt s3://${bucket}/`,
    `aws --endpoint-url ${shell(key.endpoint)} s3 ls s3://${bucket}/`,
  ],
  rclone: (key, bucket) => [
    'rclone config create tessera s3 provider=Other \\',
    `  endpoint=${shell(key.endpoint)} region=${REGION} \\`,
    `  access_key_id=${shell(key.accessKeyId)} secret_access_key=${shell(key.secretAccessKey)}`,
    "echo 'Hello' > hello.txt",
    `rclone copy hello.txt tessera:${bucket}`,
    `rclone ls tessera:${bucket}`,
  ],
  boto3: (key, bucket) => [
    'import boto3',
    '',
    's3 = boto3.client(',
    '    "s3",',
    `    endpoint_url=${quoted(key.endpoint)},`,
    `    region_name="${REGION}",`,
    `    aws_access_key_id=${quoted(key.accessKeyId)},`,
    `    aws_secret_access_key=${quoted(key.secretAccessKey)},`,
    ')',
    `s3.put_object(Bucket="${bucket}", Key="hello.txt", Body=b"Hello\\n")`,
    `for item in s3.list_objects_v2(Bucket="${bucket}").get("Contents", []):`,
    '    print(item["Size"], item["Key"])',
  ],
  js: (key, bucket) => [
    '// npm install @aws-sdk/client-s3, then save this as hello.mjs and run: node hello.mjs',
    "import { ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';",
    '',
    'const s3 = new S3Client({',
    `  endpoint: ${quoted(key.endpoint)},`,
    `  region: '${REGION}',`,
    '  forcePathStyle: true,',
    '  credentials: {',
    `    accessKeyId: ${quoted(key.accessKeyId)},`,
    `    secretAccessKey: ${quoted(key.secretAccessKey)},`,
    '  },',
    '});',
    `await s3.send(new PutObjectCommand({ Bucket: '${bucket}', Key: 'hello.txt', Body: 'Hello\\n' }));`,
    `const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: '${bucket}' }));`,
    'for (const { Size, Key } of Contents) console.log(Size, Key);',
  ],
};

export const snippetOf = (tool: Tool, key: Key, bucket: string): string => WRITERS[tool](key, bucket).join('\n');
