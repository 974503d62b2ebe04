/** Websites in buckets (Amazon S3 User Guide, "Hosting a static website using Amazon S3"): which object answers a path. Pure. */

export interface Website {
  /** Name of the index document of each folder, such as `index.html`; null if all requests are redirected. */
  readonly index: string | null;
  /** Key of the object that answers errors; null if there is none. */
  readonly error: string | null;
  /** Where all requests are redirected; null if they are answered. */
  readonly redirectAll: { readonly host: string; readonly protocol: 'http' | 'https' | null } | null;
}

/** The key that answers a path of a website: that of the index document, for a folder. */
export const toPageKey = (key: string, index: string): string =>
  key === '' || key.endsWith('/') ? `${key}${index}` : key;

/** The key of the index document of a path without its last slash, to which browsers are redirected; null for a folder. */
export const toFolderIndex = (key: string, index: string): string | null =>
  key === '' || key.endsWith('/') ? null : `${key}/${index}`;
