/** Attachments of a message: images with a preview, all of them with a download link. */
import { call } from '../../shared/api.ts';
import { formatBytes } from '../../shared/format.ts';
import { Icon } from '../../shared/icons.tsx';
import { plural } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { usePicture } from '../../shared/use-picture.ts';
import { type Attachment, attachmentPath } from '../model/api.ts';

const t = mailTexts.reader;

const RASTER = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
/** Size limit in bytes of an image with a preview. */
const PICTURE_BYTES_MAX = 10_000_000;

/** Preview of an image. If it fails, the download link remains. */
function Picture({ path, type }: { path: string; type: string }) {
  const { url } = usePicture((signal) => call(path, { signal }), type, [path]);
  return url ? <img className="picture" src={url} alt="" /> : <span className="picture" />;
}

export function Attachments({ messageId, attachments }: { messageId: string; attachments: Attachment[] }) {
  const shown = attachments.filter((one) => !one.inline || !one.content_type.startsWith('image/'));
  if (shown.length === 0) return null;
  return (
    <section className="files" aria-label={plural(mailTexts.counts.files, shown.length)}>
      <ul className="attachments" aria-label={t.attachments}>
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
