/** Attachments of the message being written, with progress and errors. */
import { formatBytes } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { detach } from './uploads.ts';
import type { Upload } from './writing.ts';

const t = mailComposeTexts.window;

export function Files({ uploads }: { uploads: Upload[] }) {
  // Pictures of a quote are shown in the quote, unless they need attention.
  const shown = uploads.filter((upload) => !upload.isInline || upload.error || upload.attachmentId === null);
  if (shown.length === 0) return null;
  return (
    <ul className="uploads" aria-label={t.attachments}>
      {shown.map((upload) => (
        <li key={upload.key}>
          <span className="ellipsis grow" title={upload.fileName}>
            {upload.fileName}
          </span>
          <span className="muted small">{formatBytes(upload.size)}</span>
          {!upload.error && upload.attachmentId === null && (
            <progress value={upload.progress} aria-label={fill(t.uploading, { fileName: upload.fileName })} />
          )}
          <button
            type="button"
            className="quiet icon"
            aria-label={fill(t.removeFile, { fileName: upload.fileName })}
            onClick={() => detach(upload.key)}
          >
            ✕
          </button>
          {upload.error && (
            <span className="danger-text small upload-error" role="alert">
              {upload.error}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
