/** Types of listings of names, versions and uploads. */
import type { UploadFacts } from './uploads.ts';
import type { Bucket, ListedVersion } from './versions.ts';

export interface ListRequest {
  readonly bucket: Bucket;
  readonly prefix: string;
  /** Delimiter of common prefixes; empty for none. */
  readonly delimiter: string;
  /**
   * Inclusive lower bound of the listed names. '' lists from the start; `nameAfter(marker)` after a name; `nameAfterPrefix(prefix)`
   * after a common prefix (both in `domain/name-order.ts`); the previous page's `next` continues a listing.
   */
  readonly from: string;
  readonly limit: number;
}

export type Listed<T> =
  | { readonly kind: 'item'; readonly item: T }
  | { readonly kind: 'prefix'; readonly prefix: string };

export interface ListPage<T> {
  readonly entries: readonly Listed<T>[];
  /** Value of `from` for the next page; null when there is none. */
  readonly next: string | null;
}

export interface ListVersionsRequest extends ListRequest {
  /**
   * Id (a TIMEUUID or `null`) of a version of the name `from`. If set, only older versions of that name are listed, then the names
   * after it.
   */
  readonly versionsAfter?: string;
}

export interface ListVersionsPage extends ListPage<ListedVersion> {
  /** Value of `versionsAfter` for the next page; null unless that page continues inside the versions of the name `next`. */
  readonly nextVersion: string | null;
}

export interface ListUploadsRequest extends ListRequest {
  /** Id of an upload of the name `from`. If set, only later uploads of that name are listed, then the names after it. */
  readonly uploadsAfter?: string;
}

export interface ListUploadsPage extends ListPage<UploadFacts> {
  readonly nextUpload: string | null;
}

/** A name with its newest version and its state at an earlier time. */
export interface NameAt {
  readonly name: string;
  readonly versionId: string;
  readonly modifiedAt: number;
  readonly isMarker: boolean;
  readonly size: number;
  /**
   * State of the object at the earlier time; null if there was none. `isSame`: the newest version has the same content and
   * metadata.
   */
  readonly earlier: { readonly versionId: string; readonly size: number; readonly isSame: boolean } | null;
}
