/** Running and ended deletions. */
import { formatCount, formatNumber } from '../shared/format.ts';
import { dismissJob, FAILURES_LISTED_MAX, type Job, stopJob } from './jobs.ts';

function describe({ state, deleted, total, failures, error }: Job): string {
  const count = total === null ? formatCount(deleted) : `${formatCount(deleted)} of ${formatCount(total)}`;
  if (state === 'running') return `${count} deleted`;
  const failed = failures.length > 0 ? `, ${formatNumber(failures.length, 'object')} not deleted` : '';
  const text = `${formatCount(deleted)} deleted${failed}`;
  if (state === 'stopped') return `Stopped: ${text}`;
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
          {isRunning ? 'Stop' : 'Dismiss'}
        </button>
      </div>
      {isRunning && (
        <progress aria-label={job.title} {...(job.total === null ? {} : { max: job.total, value: job.deleted })} />
      )}
      <p className={job.state === 'failed' ? 'danger-text small' : 'muted small'}>{describe(job)}</p>
      {job.failures.length > 0 && (
        <details className="small">
          <summary>What was not deleted</summary>
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
