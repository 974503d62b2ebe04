/** A small picture of a stored raster image, or an icon. It loads when it comes into view. */
import { Icon } from '../shared/icons.tsx';
import { findPictureType, usePicture } from '../shared/use-picture.ts';
import { type Entry, type Key, s3 } from './s3.ts';
import { useSeen } from './use-seen.ts';

/** Size limit of a file with a thumbnail: the whole file is loaded, because S3 has no small copies. */
const BYTES_MAX = 2_000_000;

export function Thumbnail({ accessKey, bucket, object }: { accessKey: Key; bucket: string; object: Entry }) {
  const { key, etag, size } = object;
  // Find the content type by the file extension, because a listing has no content types.
  const type = object.markerId === undefined && size > 0 && size <= BYTES_MAX ? findPictureType(key) : null;
  const [ref, isSeen] = useSeen<HTMLSpanElement>();
  const isWanted = isSeen && type !== null;
  // The ETag is a dependency: if it changes, the picture is loaded again.
  const { url, forget } = usePicture(isWanted ? (signal) => s3(accessKey, { bucket, key, signal }) : null, type ?? '', [
    accessKey,
    bucket,
    key,
    etag,
    isWanted,
  ]);
  if (type === null) return <Icon name="file" />;
  return (
    <span ref={ref} className="thumbnail">
      {url === null ? <Icon name="file" /> : <img src={url} alt="" onError={forget} />}
    </span>
  );
}
