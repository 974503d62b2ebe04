/** Attachments of the message being written, with progress and errors. */
import { FileRow, FileRows } from '../../shared/files.tsx';
import { formatBytes } from '../../shared/format.ts';
import { Icon } from '../../shared/icons.tsx';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { findPictureType, usePicture } from '../../shared/use-picture.ts';
import { session } from '../model/session.ts';
import { findLoader } from './pictures.ts';
import { detach } from './uploads.ts';
import type { Upload } from './writing.ts';

const t = mailComposeTexts.window;

/** Size limit in bytes of a picture with a preview. */
const PICTURE_BYTES_MAX = 25_000_000;

function Preview({ upload }: { upload: Upload }) {
  const type = upload.size > PICTURE_BYTES_MAX ? null : findPictureType(upload.fileName);
  // Until the upload has ended, only the tab that uploads has the picture. The preview is loaded again when it ends.
  const { url, forget } = usePicture(type === null ? null : findLoader(upload), type ?? '', [
    upload.key,
    upload.attachmentId === null,
  ]);
  if (type === null) return <Icon name="clip" />;
  return url === null ? (
    <span className="file-picture" />
  ) : (
    <img className="file-picture" src={url} alt="" onError={forget} />
  );
}

export function Files({ uploads }: { uploads: Upload[] }) {
  // Pictures of a quote are shown in the quote, unless they need attention.
  const shown = uploads.filter((upload) => !upload.isInline || upload.error || upload.attachmentId === null);
  if (shown.length === 0) return null;
  return (
    <>
      <OutsideLimit bytes={uploads.reduce((sum, upload) => sum + upload.size, 0)} />
      <FileRows label={t.attachments}>
        {shown.map((upload) => (
          <FileRow
            key={upload.key}
            name={upload.fileName}
            size={upload.size}
            picture={<Preview upload={upload} />}
            error={upload.error}
            {...(!upload.error && upload.attachmentId === null ? { progress: upload.progress } : {})}
            onRemove={() => detach(upload.key)}
          />
        ))}
      </FileRows>
    </>
  );
}

/** Says that the files are too large for mail to other servers, if its way has a lower limit than the account. */
function OutsideLimit({ bytes }: { bytes: number }) {
  const profile = useStore(session, (state) => state.profile);
  const limit = profile?.outside_attachment_limit_bytes;
  if (limit === undefined || bytes <= limit) return null;
  const sizes = { size: formatBytes(bytes), limit: formatBytes(limit) };
  return (
    <p className="compose-line small warning-text" role="status">
      {fill(t.outsideLimit, sizes)}
    </p>
  );
}
