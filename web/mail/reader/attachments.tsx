/** Attachments of a message: images with a preview, all of them with a download link. */
import { useEffect, useState } from 'react';
import { call } from '../../shared/api.ts';
import { formatBytes, formatNumber } from '../../shared/format.ts';
import { Icon } from '../../shared/icons.tsx';
import { type Attachment, attachmentPath } from '../model/api.ts';

const RASTER = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
/** Larger images have no preview. */
const PICTURE_BYTES_MAX = 10_000_000;

/** Fetches the image and shows it from a `blob:` URL: the page's policy does not allow its address as a source. */
function Picture({ path, type }: { path: string; type: string }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    let made = '';
    call(path, { signal: stop.signal })
      .then((response) => response.arrayBuffer())
      .then((bytes) => {
        if (stop.signal.aborted) return;
        made = URL.createObjectURL(new Blob([bytes], { type }));
        setUrl(made);
      })
      // Without the preview, the download link is still there.
      .catch(() => undefined);
    return () => {
      stop.abort();
      URL.revokeObjectURL(made);
    };
  }, [path, type]);
  return url ? <img className="picture" src={url} alt="" /> : <span className="picture" />;
}

export function Attachments({ messageId, attachments }: { messageId: string; attachments: Attachment[] }) {
  const shown = attachments.filter((one) => !one.inline || !one.content_type.startsWith('image/'));
  if (shown.length === 0) return null;
  return (
    <section className="files" aria-label={formatNumber(shown.length, 'file')}>
      <ul className="attachments" aria-label="Attachments">
        {shown.map((one) => {
          const path = attachmentPath(messageId, one.file_name);
          const isPicture = RASTER.test(one.content_type) && one.size <= PICTURE_BYTES_MAX;
          return (
            <li key={one.file_name} className={isPicture ? 'with-picture' : undefined}>
              <a href={path} download={one.file_name}>
                {isPicture ? <Picture path={path} type={one.content_type} /> : <Icon name="clip" />}
                <span className="ellipsis">{one.file_name}</span>{' '}
                <span className="muted small">{formatBytes(one.size)}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
