/** The list of uploads, with pause, resume and cancel, and of deletions. */
import { useEffect, useState } from 'react';
import { formatBytes } from '../shared/format.ts';
import { useStore } from '../shared/store.ts';
import { JobRow } from './job-list.tsx';
import { jobs } from './jobs.ts';
import { cancel, clearDone, pause, resume, type Upload, type UploadState, uploads } from './uploads.ts';

/** A finished upload leaves the list after this time. */
const DONE_SHOWN_MS = 8000;

const STATES: Record<UploadState, string> = {
  waiting: 'Waiting',
  running: 'On its way',
  paused: 'Paused',
  failed: 'Stopped',
  done: 'Stored',
  'file-needed': 'Unfinished: choose the same file again to go on',
};

function Row({ upload }: { upload: Upload }) {
  const isOpen = upload.state !== 'done';
  return (
    <li className="upload" data-state={upload.state}>
      <div className="row">
        <span className="grow ellipsis">{upload.name}</span>
        <span className="muted small">
          {isOpen ? `${formatBytes(upload.sentBytes)} of ${formatBytes(upload.size)}` : formatBytes(upload.size)}
        </span>
      </div>
      {isOpen && (
        <progress max={Math.max(1, upload.size)} value={upload.sentBytes} aria-label={`Uploading ${upload.name}`} />
      )}
      <div className="row">
        <span className={upload.state === 'failed' ? 'danger-text small grow' : 'muted small grow'}>
          {STATES[upload.state]}
          {upload.error ? `: ${upload.error}` : ''}
        </span>
        {upload.state === 'running' && (
          <button type="button" className="quiet small" onClick={() => pause(upload.id)}>
            Pause
          </button>
        )}
        {(upload.state === 'paused' || upload.state === 'failed') && (
          <button type="button" className="quiet small" onClick={() => resume(upload.id)}>
            Resume
          </button>
        )}
        {isOpen && (
          <button type="button" className="quiet small" onClick={() => void cancel(upload.id)}>
            Cancel
          </button>
        )}
      </div>
    </li>
  );
}

function describeList(open: number, isDeleting: boolean, hasUploads: boolean): string {
  if (open > 0) return `${open} on the way`;
  if (isDeleting) return 'Deleting';
  return hasUploads ? 'All stored' : 'Deletions';
}

/** Uploads and deletions, in a corner of the page. They fold to one line. */
export function UploadList() {
  const list = useStore(uploads, (state) => state.list);
  const deletions = useStore(jobs, (state) => state.list);
  const [isFolded, setFolded] = useState(false);
  const isAllStored = list.length > 0 && list.every((upload) => upload.state === 'done');
  useEffect(() => {
    if (!isAllStored) return;
    const timer = setTimeout(clearDone, DONE_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isAllStored]);
  if (list.length === 0 && deletions.length === 0) return null;
  const open = list.filter((upload) => upload.state !== 'done').length;
  const isDeleting = deletions.some((job) => job.state === 'running');
  return (
    <section className="card upload-list" aria-label="Uploads">
      <div className="row">
        <div className="grow" role="status">
          <h2>{describeList(open, isDeleting, list.length > 0)}</h2>
        </div>
        {open < list.length && (
          <button type="button" className="quiet small" onClick={clearDone}>
            Clear
          </button>
        )}
        <button
          type="button"
          className="quiet icon"
          aria-expanded={!isFolded}
          aria-label={isFolded ? 'Show the list' : 'Fold the list'}
          onClick={() => setFolded(!isFolded)}
        >
          {isFolded ? '▴' : '▾'}
        </button>
      </div>
      {!isFolded && (
        <ul>
          {deletions.map((job) => (
            <JobRow key={job.id} job={job} />
          ))}
          {list.map((upload) => (
            <Row key={upload.id} upload={upload} />
          ))}
        </ul>
      )}
    </section>
  );
}
