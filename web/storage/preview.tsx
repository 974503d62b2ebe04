/**
 * Shows text and raster images. Other types can only be downloaded. Stored content never becomes markup in this page.
 */
import { useEffect } from 'react';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { type Key, s3 } from './s3.ts';

const t = storageTexts.object;

const TEXT_BYTES_MAX = 200_000;
const IMAGE_BYTES_MAX = 20_000_000;
const RASTER = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const TEXT = /^(text\/|application\/(json|xml|javascript|x-sh|yaml|toml|sql|x-ndjson))|\+(json|xml)$/;

interface Shown {
  imageUrl?: string;
  text?: string;
  isCut?: boolean;
}

interface Props {
  accessKey: Key;
  bucket: string;
  name: string;
  contentType: string;
  size: number;
  versionId: string | null;
}

async function load({ accessKey, bucket, name, contentType, size, versionId }: Props): Promise<Shown> {
  const query: Record<string, string> = versionId ? { versionId } : {};
  const type = contentType.split(';')[0]?.trim() ?? '';
  if (RASTER.test(type) && size <= IMAGE_BYTES_MAX) {
    const response = await s3(accessKey, { bucket, key: name, query });
    return { imageUrl: URL.createObjectURL(new Blob([await response.arrayBuffer()], { type })) };
  }
  if (TEXT.test(type) && size > 0) {
    const headers = size > TEXT_BYTES_MAX ? { range: `bytes=0-${TEXT_BYTES_MAX - 1}` } : {};
    const response = await s3(accessKey, { bucket, key: name, query, headers });
    return { text: await response.text(), isCut: size > TEXT_BYTES_MAX };
  }
  return {};
}

export function Preview(props: Props) {
  const { value, error } = useLoaded(() => load(props), [props.accessKey, props.bucket, props.name, props.versionId]);
  const url = value?.imageUrl;
  useEffect(() => () => (url ? URL.revokeObjectURL(url) : undefined), [url]);
  if (error) return <p className="error-box">{error}</p>;
  if (url) return <img className="preview-image" src={url} alt={props.name} />;
  if (value?.text === undefined) return null;
  return (
    <figure className="preview-text">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a region that scrolls */}
      <pre tabIndex={0}>{value.text}</pre>
      {value.isCut && (
        <figcaption className="muted small">{fill(t.firstPart, { value: TEXT_BYTES_MAX / 1000 })}</figcaption>
      )}
    </figure>
  );
}
