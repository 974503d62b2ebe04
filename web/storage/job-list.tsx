/** Lists running and ended jobs. */
import { formatCount } from '../shared/format.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { dismissJob, FAILURES_LISTED_MAX, type Job, stopJob } from './jobs.ts';

const t = storageTexts.jobs;
const wordsOf = () => ({
  delete: { done: t.deleted, failed: t.notDeleted, what: t.whatDeleted },
  restore: { done: t.restored, failed: t.notRestored, what: t.whatRestored },
});

function describe({ kind, state, done, total, failures, error }: Job): string {
  const words = wordsOf()[kind];
  if (state === 'running') {
    const progress = { count: formatCount(done), total: formatCount(total ?? 0) };
    return fill(words.done, { count: total === null ? progress.count : fill(t.ofTotal, progress) });
  }
  const failed =
    failures.length > 0
      ? `, ${fill(words.failed, { count: plural(storageTexts.counts.objects, failures.length) })}`
      : '';
  const text = fill(words.done, { count: formatCount(done) }) + failed;
  if (state === 'stopped') return fill(t.stopped, { text });
  return error ? `${text}. ${error}` : text;
}

export function JobRow({ job }: { job: Job }) {
  const isRunning = job.state === 'running';
  return (
    <li className="upload" data-state={job.state}>
      <div className="row">
        <span className="grow ellipsis" title={job.title}>
          {job.title}
        </span>
        <button type="button" className="quiet small" onClick={() => (isRunning ? stopJob : dismissJob)(job.id)}>
          {isRunning ? t.stop : t.dismiss}
        </button>
      </div>
      {isRunning && (
        <progress aria-label={job.title} {...(job.total === null ? {} : { max: job.total, value: job.done })} />
      )}
      <p className={job.state === 'failed' ? 'danger-text small' : 'muted small'}>{describe(job)}</p>
      {job.failures.length > 0 && (
        <details className="small">
          <summary>{wordsOf()[job.kind].what}</summary>
          <ul className="failures">
            {job.failures.slice(0, FAILURES_LISTED_MAX).map((failure) => (
              <li key={`${failure.key} ${failure.versionId}`}>
                <span className="mono">{failure.key}</span>: {failure.message}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
