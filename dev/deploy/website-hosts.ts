/** Decides whether stored pages may run scripts at `bucket.S3_HOST`. Pure. */
import { getDomain } from 'tldts';

/** The part of a host that one owner registered, by the public suffix list with its private part (`owner.github.io`). */
const registrableDomainOf = (host: string): string | null => getDomain(host, { allowPrivateDomains: true });

/**
 * Whether S3_HOST has another registrable domain than APP_HOST. Then a page of a bucket cannot set cookies for the app, and is another
 * site for `SameSite`. A host without a registrable domain, such as `s3.internal` of a private network, is not apart.
 */
export function isWebsiteApart(appHost: string | undefined, s3Host: string | undefined): boolean {
  if (!appHost || !s3Host) return false;
  const [app, storage] = [registrableDomainOf(appHost), registrableDomainOf(s3Host)];
  return app !== null && storage !== null && app !== storage;
}
