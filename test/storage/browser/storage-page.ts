/** Helpers of the storage page's tests: a server, a browser, keys and buckets. */
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { TestServer } from '../../support/server.ts';
import { openTab, type Tab } from '../../web/browser/chromium.ts';

export interface StorageKey {
  accessKeyId: string;
  secretAccessKey: string;
}

/** S3 client that prepares and checks data without the page. */
export interface Store {
  createBucket(hasVersions?: boolean): Promise<string>;
  put(bucket: string, key: string, body: string | Uint8Array, contentType?: string): Promise<void>;
  delete(bucket: string, key: string): Promise<void>;
}

export function openStore(server: TestServer, credentials: StorageKey): Store {
  const client = new S3Client({ endpoint: server.url, region: 'us-east-1', forcePathStyle: true, credentials });
  return {
    async createBucket(hasVersions = false) {
      const Bucket = `b-${crypto.randomUUID()}`;
      await client.send(new CreateBucketCommand({ Bucket }));
      if (hasVersions)
        await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }));
      return Bucket;
    },
    async put(Bucket, Key, Body, ContentType = 'text/plain') {
      await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType }));
    },
    async delete(Bucket, Key) {
      await client.send(new DeleteObjectCommand({ Bucket, Key }));
    },
  };
}

/** Opens a page of the console in a signed-in tab: the key is in session storage, as if another tab had sent it. */
export async function openConsole(
  browser: Browser,
  server: TestServer,
  key: StorageKey,
  hash: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const tab = await openTab(browser, options);
  tab.page.on('dialog', (dialog) => void dialog.accept());
  const stored = JSON.stringify({ ...key, endpoint: server.url });
  await tab.page.addInitScript((text) => {
    if (location.pathname === '/_/storage') sessionStorage.setItem('tessera.storage.key', text);
  }, stored);
  await tab.page.goto(`${server.url}/_/storage${hash}`);
  return tab;
}
