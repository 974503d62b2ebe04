/** Links by which people without a key open an object: `/v1/storage/links`. Requests are signed with the access key. */
import type { Page } from '../shared/api.ts';
import { signedJson } from './job-api.ts';
import type { Key } from './s3.ts';

export interface ShareLink {
  link_id: string;
  key: string | null;
  version_id: string | null;
  has_password: boolean;
  expires_at: string;
  openings: number;
}

const LINKS = '/v1/storage/links';

/** Makes a link. Its address is shown only here. */
export const shareObject = (
  key: Key,
  wish: { bucket: string; key: string; version_id?: string; expires_at: string; password?: string },
): Promise<ShareLink & { url: string }> => signedJson(key, 'POST', LINKS, {}, wish);

/** Lists the links to an object that work, among the newest 200 of the bucket. */
export async function listLinksTo(key: Key, bucket: string, name: string): Promise<ShareLink[]> {
  const { data } = await signedJson<Page<ShareLink>>(key, 'GET', LINKS, { bucket, limit: '200' });
  return data.filter((link) => link.key === name && Date.parse(link.expires_at) > Date.now());
}

export const endLink = (key: Key, id: string): Promise<void> =>
  signedJson(key, 'DELETE', `${LINKS}/${encodeURIComponent(id)}`, {});
