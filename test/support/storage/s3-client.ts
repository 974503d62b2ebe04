/** Runs real S3 clients against a Tessera. They use a temporary home directory, so no configuration of the machine leaks in. */
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The session token of a temporary key. */
  readonly sessionToken?: string;
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<Finished> {
  return new Promise((resolve) => {
    // Cast, because the type ProcessEnv requires the Worker's variables here, but clients do not need them.
    const environment = { PATH: process.env.PATH ?? '', ...env } as unknown as NodeJS.ProcessEnv;
    execFile(command, [...args], { env: environment, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}

/** Runs a client as `run` does. @returns its standard output. @throws if the client fails; the message contains its output. */
export async function mustRun(command: string, args: readonly string[], env?: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, env);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** Configures clients for one access key. @returns `aws`, `rclone`, `s3cmd` and Python with boto3. */
export function createClients(url: string, { accessKeyId, secretAccessKey }: Credentials) {
  const home = mkdtempSync(join(tmpdir(), 'tessera-client-'));
  const { host } = new URL(url);
  const aws = {
    HOME: home,
    AWS_CONFIG_FILE: join(home, 'none'),
    AWS_SHARED_CREDENTIALS_FILE: join(home, 'none'),
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_DEFAULT_REGION: 'us-east-1',
    S3_URL: url,
  };
  const rclone = join(home, 'rclone.conf');
  const settings = ['type = s3', 'provider = Other', `access_key_id = ${accessKeyId}`, 'region = us-east-1'];
  writeFileSync(
    rclone,
    ['[t]', ...settings, `secret_access_key = ${secretAccessKey}`, `endpoint = ${url}`, ''].join('\n'),
  );
  const s3cfg = join(home, 's3cfg');
  writeFileSync(
    s3cfg,
    [
      '[default]',
      `access_key = ${accessKeyId}`,
      `secret_key = ${secretAccessKey}`,
      `host_base = ${host}`,
      `host_bucket = ${host}`,
      'use_https = False',
      'bucket_location = us-east-1',
      '',
    ].join('\n'),
  );
  return {
    aws: (...args: string[]) => mustRun('/usr/bin/aws', ['--endpoint-url', url, ...args], aws),
    tryAws: (...args: string[]) => run('/usr/bin/aws', ['--endpoint-url', url, ...args], aws),
    rclone: (...args: string[]) => mustRun('rclone', ['--config', rclone, ...args], { HOME: home }),
    s3cmd: (...args: string[]) => mustRun('s3cmd', ['--config', s3cfg, ...args], { HOME: home }),
    python: (script: string, ...args: string[]) => mustRun('/usr/bin/python3', ['-c', script, ...args], aws),
    home,
  };
}

export function createSdkClient(url: string, credentials: Credentials): S3Client {
  return new S3Client({ endpoint: url, region: 'us-east-1', forcePathStyle: true, credentials: { ...credentials } });
}
