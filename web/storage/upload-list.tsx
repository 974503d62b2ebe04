/** Uploads, with pause, resume and cancel for one or all, failures, and jobs. Shown in a corner of the page. */
import { useEffect, useState } from 'react';
import { formatBytes, formatCount } from '../shared/format.ts';
import { IconButton } from '../shared/icon-button.tsx';
import { useStore } from '../shared/store.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { JobRow } from './job-list.tsx';
import { type Job, jobs } from './jobs.ts';
import {
  cancel,
  cancelAll,
  clearDone,
  pause,
  pauseAll,
  resume,
  resumeAll,
  type Upload,
  type UploadState,
  uploads,
} from './uploads.ts';

const t = storageTexts.uploads;
/** Time in milliseconds after which a finished upload leaves the list. */
const DONE_SHOWN_MS = 8000;
/** Limit of rows in the list, because a folder may have thousands of files. Uploads that need attention come first. */
const ROWS_MAX = 40;
const FAILURES_MAX = 200;

const ORDER: readonly UploadState[] = ['running', 'file-needed', 'failed', 'paused', 'waiting', 'done'];

function Row({ upload }: { upload: Upload }) {
  const { id, name, state, size, sentBytes, error } = upload;
  const isOpen = state !== 'done';
  const sizes = { sent: formatBytes(sentBytes), size: formatBytes(size) };
  return (
    <li className="upload" data-state={state}>
      <div className="row">
        <span className="grow ellipsis" title={name}>
          {name}
        </span>
        <span className="muted small">{isOpen ? fill(t.of, sizes) : sizes.size}</span>
      </div>
      {isOpen && <progress max={Math.max(1, size)} value={sentBytes} aria-label={fill(t.uploading, { name })} />}
      <div className="row">
        <span className={state === 'failed' ? 'danger-text small grow' : 'muted small grow'}>
          {t.states[state]}
          {error ? `: ${error}` : ''}
        </span>
        {state === 'running' && (
          <button type="button" className="quiet small" onClick={() => pause(id)}>
            {t.pause}
          </button>
        )}
        {(state === 'paused' || state === 'failed') && (
          <button type="button" className="quiet small" onClick={() => resume(id)}>
            {t.resume}
          </button>
        )}
        {isOpen && (
          <button type="button" className="quiet small" onClick={() => void cancel(id)}>
            {t.cancel}
          </button>
        )}
      </div>
    </li>
  );
}

interface Counts {
  total: number;
  done: number;
  failed: number;
  isPaused: boolean;
  /** Whether some uploads are running or waiting. */
  isMoving: boolean;
  bytes: number;
  sentBytes: number;
}

function count(list: readonly Upload[]): Counts {
  const in_ = (...states: UploadState[]) => list.filter(({ state }) => states.includes(state)).length;
  return {
    total: list.length,
    done: in_('done'),
    failed: in_('failed'),
    isPaused: in_('paused') > 0 && in_('running', 'waiting') === 0,
    isMoving: in_('running', 'waiting') > 0,
    bytes: list.reduce((sum, { size }) => sum + size, 0),
    sentBytes: list.reduce((sum, { sentBytes, size, state }) => sum + (state === 'done' ? size : sentBytes), 0),
  };
}

function describeList({ total, done, failed, isPaused, isMoving }: Counts, running: Job | undefined): string {
  const values = { done: formatCount(done), total: formatCount(total), failed: formatCount(failed) };
  if (isPaused) return fill(t.paused, values);
  if (isMoving || (total > done && failed === 0)) return fill(t.onTheWay, values);
  if (failed > 0) return fill(t.failed, values);
  if (running) return running.kind === 'delete' ? t.deleting : t.restoring;
  return total > 0 ? t.complete : t.jobs;
}

/** Buttons that pause, resume or cancel all uploads, if there are several. */
function AllButtons({ list, counts }: { list: readonly Upload[]; counts: Counts }) {
  if (list.length < 2 || counts.done === counts.total) return null;
  const isAnyPaused = list.some(({ state }) => state === 'paused');
  return (
    <div className="row wrap">
      {counts.isMoving && (
        <button type="button" className="small" onClick={pauseAll}>
          {t.pauseAll}
        </button>
      )}
      {(isAnyPaused || counts.failed > 0) && (
        <button type="button" className="small" onClick={resumeAll}>
          {isAnyPaused ? t.resumeAll : t.retryAll}
        </button>
      )}
      <button type="button" className="quiet small" onClick={() => void cancelAll()}>
        {t.cancelAll}
      </button>
    </div>
  );
}

function Failures({ list }: { list: readonly Upload[] }) {
  const failed = list.filter(({ state }) => state === 'failed');
  if (failed.length === 0 || list.length < 2) return null;
  return (
    <details className="small">
      <summary>{t.failures}</summary>
      <ul className="failures">
        {failed.slice(0, FAILURES_MAX).map(({ id, name, error }) => (
          <li key={id}>
            <span className="mono">{name}</span>: {error}
          </li>
        ))}
      </ul>
    </details>
  );
}

export function UploadList() {
  const list = useStore(uploads, (state) => state.list);
  const all = useStore(jobs, (state) => state.list);
  const counts = count(list);
  const isAllStored = list.length > 0 && counts.done === counts.total;
  // The rows are folded once everything is stored, because they cover the page. The user's own choice takes precedence.
  const [chosen, setFolded] = useState<boolean | null>(null);
  const isFolded = chosen ?? (isAllStored && all.length === 0);
  useEffect(() => {
    if (!isAllStored) return;
    const timer = setTimeout(clearDone, DONE_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isAllStored]);
  if (list.length === 0 && all.length === 0) return null;
  const shown = list.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  return (
    <section className="card upload-list" aria-label={t.region}>
      <div className="row">
        <div className="grow" role="status">
          <h2>
            {describeList(
              counts,
              all.find((job) => job.state === 'running'),
            )}
          </h2>
        </div>
        {counts.done > 0 && (
          <button type="button" className="quiet small" onClick={clearDone}>
            {t.clear}
          </button>
        )}
        <IconButton
          icon={isFolded ? 'up' : 'down'}
          label={isFolded ? t.show : t.fold}
          isExpanded={!isFolded}
          onClick={() => setFolded(!isFolded)}
        />
      </div>
      {!isFolded && (
        <>
          {list.length > 1 && !isAllStored && (
            <progress max={Math.max(1, counts.bytes)} value={counts.sentBytes} aria-label={t.progress} />
          )}
          <AllButtons list={list} counts={counts} />
          <Failures list={list} />
          <ul>
            {all.map((job) => (
              <JobRow key={job.id} job={job} />
            ))}
            {shown.slice(0, ROWS_MAX).map((upload) => (
              <Row key={upload.id} upload={upload} />
            ))}
          </ul>
          {shown.length > ROWS_MAX && (
            <p className="muted small">{fill(t.more, { count: formatCount(shown.length - ROWS_MAX) })}</p>
          )}
        </>
      )}
    </section>
  );
}
