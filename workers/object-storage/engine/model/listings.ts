/** Types of listings of names, versions and uploads. */
import type { UploadFacts } from './uploads.ts';
import type { Bucket, ListedVersion } from './versions.ts';

export interface ListRequest {
  readonly bucket: Bucket;
  readonly prefix: string;
  /** Empty for no delimiter. */
  readonly delimiter: string;
  /**
   * Inclusive lower bound of names: '' from the start; `nameAfter(marker)` past a name; `nameAfterPrefix(prefix)` past a
   * common prefix (both in `domain/name-order.ts`); or the `next` of the page before.
   */
  readonly from: string;
  readonly limit: number;
}

export type Listed<T> =
  | { readonly kind: 'item'; readonly item: T }
  | { readonly kind: 'prefix'; readonly prefix: string };

export interface ListPage<T> {
  readonly entries: readonly Listed<T>[];
  /** Start of the next page (as `from`); null at the end. */
  readonly next: string | null;
}

export interface ListVersionsRequest extends ListRequest {
  /** If `from` is a name, lists only its versions older than this one (a TIMEUUID or `null`), then the names after it. */
  readonly versionsAfter?: string;
}

export interface ListVersionsPage extends ListPage<ListedVersion> {
  /** Set when the next page continues inside the versions of the name `next`; pass it as `versionsAfter`. */
  readonly nextVersion: string | null;
}

export interface ListUploadsRequest extends ListRequest {
  /** If `from` is a name, lists only its uploads initiated after this one. */
  readonly uploadsAfter?: string;
}

export interface ListUploadsPage extends ListPage<UploadFacts> {
  readonly nextUpload: string | null;
}

/** A name, its newest version, and its state at an earlier time. */
export interface NameAt {
  readonly name: string;
  readonly versionId: string;
  readonly modifiedAt: number;
  readonly isMarker: boolean;
  readonly size: number;
  /** The object at that time; null if there was none. `isSame`: the newest version has the same content and metadata. */
  readonly earlier: { readonly versionId: string; readonly size: number; readonly isSame: boolean } | null;
}
