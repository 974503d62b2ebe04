/** The tab Jobs of a bucket: work on many objects, which continues after this page is closed. */
import { type FormEvent, useEffect, useState } from 'react';
import { formatBytes, formatCount, formatDateTime } from '../shared/format.ts';
import { fill, texts } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { notifyChange } from './changes.ts';
import { cancelJob, createJob, isOpen, type JobKind, type JobRequest, listJobs, type ServerJob } from './job-api.ts';
import { Choice } from './rule-editor.tsx';
import type { Key } from './s3.ts';

const t = storageTexts.serverJobs;
const POLL_MS = 1_500;

const describeCount = (name: string, count: number): string =>
  fill(t.counts[name as keyof typeof t.counts] ?? `{count} ${name.replaceAll('_', ' ')}`, {
    count: name === 'bytes' ? formatBytes(count) : formatCount(count),
  });

function readSource(form: FormData): NonNullable<JobRequest['source']> {
  const text = (name: string) => String(form.get(`source_${name}`) ?? '').trim();
  return {
    endpoint: text('endpoint'),
    region: text('region') || 'us-east-1',
    bucket: text('bucket'),
    prefix: text('prefix'),
    access_key_id: text('key'),
    secret_access_key: text('secret'),
  };
}

/** Reads a job request from the form. @returns only the fields that this kind of job needs. */
function readRequest(form: FormData, kind: JobKind, bucket: string): Omit<JobRequest, 'dry_run'> {
  const prefix = String(form.get('prefix') ?? '');
  const request = { kind, bucket, prefix };
  if (kind === 'restore') return { ...request, at: new Date(String(form.get('at'))).toISOString() };
  if (kind === 'pull') return { ...request, source: readSource(form) };
  if (kind !== 'copy') return request;
  const target = { bucket: String(form.get('target_bucket')).trim(), prefix: String(form.get('target_prefix')) };
  return { ...request, target };
}

/** The start of the current minute, in the form of a `datetime-local` field. */
function nowLocal(): string {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const DANGEROUS: readonly JobKind[] = ['empty', 'delete'];

/** Fields of the source of a pull. */
function SourceFields() {
  const names = ['endpoint', 'region', 'bucket', 'prefix', 'key', 'secret'] as const;
  const hints: Partial<Record<(typeof names)[number], string>> = {
    endpoint: 'https://s3.eu-central-1.amazonaws.com',
    region: 'us-east-1',
  };
  return names.map((name) => (
    <label className="field" key={name}>
      <span>{t.source[name]}</span>
      <input
        name={`source_${name}`}
        type={name === 'secret' ? 'password' : name === 'endpoint' ? 'url' : 'text'}
        required={name !== 'prefix' && name !== 'region'}
        placeholder={hints[name]}
        autoComplete="off"
        spellCheck={false}
      />
    </label>
  ));
}

interface FormProps {
  accessKey: Key;
  bucket: string;
  prefix: string;
  onStarted: () => void;
}

function JobForm({ accessKey, bucket, prefix, onStarted }: FormProps) {
  const [kind, setKind] = useState<JobKind>('count');
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const request = readRequest(new FormData(event.currentTarget), kind, bucket);
    const { submitter } = event.nativeEvent as SubmitEvent;
    const isDry = submitter instanceof HTMLButtonElement && submitter.value === 'dry';
    const place = `${bucket}/${request.prefix}`;
    if (!isDry && DANGEROUS.includes(kind) && !confirm(fill(t.confirms[kind as 'empty' | 'delete'], { place }))) return;
    createJob(accessKey, { ...request, dry_run: isDry }).then(() => {
      showToast(t.started);
      onStarted();
    }, showError);
  };
  return (
    <form className="card stack" onSubmit={submit} aria-label={t.create}>
      <h2>{t.create}</h2>
      <p className="muted small">{t.about}</p>
      <div className="form-grid">
        <Choice label={t.kind} value={kind} texts={t.kinds} onChange={setKind} />
        <label className="field">
          <span>{t.prefix}</span>
          <input name="prefix" defaultValue={prefix} placeholder={t.prefixHint} spellCheck={false} />
        </label>
        {kind === 'restore' && (
          <label className="field">
            <span>{t.at}</span>
            <input name="at" type="datetime-local" step={1} required defaultValue={nowLocal()} />
          </label>
        )}
        {kind === 'copy' && (
          <>
            <label className="field">
              <span>{t.targetBucket}</span>
              <input name="target_bucket" required defaultValue={bucket} spellCheck={false} />
            </label>
            <label className="field">
              <span>{t.targetPrefix}</span>
              <input name="target_prefix" placeholder="backup/" spellCheck={false} />
            </label>
          </>
        )}
        {kind === 'pull' && <SourceFields />}
      </div>
      <p className="small rule-says">{t.means[kind]}</p>
      <div className="row wrap">
        <button type="submit" className={DANGEROUS.includes(kind) ? 'danger' : 'primary'} value="run">
          {t.start}
        </button>
        {kind !== 'count' && (
          <button type="submit" value="dry">
            {t.preview}
          </button>
        )}
      </div>
    </form>
  );
}

/** Says why a job failed. The end of its credential is a reason of jobs only; the other reasons are problem codes too. */
const describeEnd = (code: string): string =>
  code === 'credential_revoked' ? t.credentialEnded : (texts.problems[code] ?? fill(t.failed, { code }));

function JobItem({ job, accessKey, onChange }: { job: ServerJob; accessKey: Key; onChange: () => void }) {
  const isNothingNew =
    job.kind === 'pull' && job.state === 'done' && !job.counts.versions_pulled && !job.counts.markers_pulled;
  const title = `${t.kinds[job.kind]}: ${job.prefix || t.everything}`;
  const counts = Object.entries(job.counts).filter(([name, count]) => count > 0 && name !== 'examined');
  const cancel = () =>
    cancelJob(accessKey, job.job_id).then(() => {
      showToast(t.cancelled);
      onChange();
    }, showError);
  const examined = fill(t.examined, { count: formatCount(job.counts.examined ?? 0) });
  return (
    <li className="stack" data-state={job.state}>
      <div className="row wrap">
        <strong className="grow">{title}</strong>
        {job.dry_run && <span className="badge">{t.dry}</span>}
        <span className={job.state === 'done' ? 'badge good' : job.state === 'failed' ? 'badge bad' : 'badge'}>
          {t.states[job.state]}
        </span>
        {isOpen(job) && (
          <button type="button" className="small" onClick={() => void cancel()}>
            {storageTexts.cancel}
            <span className="visually-hidden"> {title}</span>
          </button>
        )}
      </div>
      {isOpen(job) && <progress aria-label={title} />}
      <p className="muted small">
        {[
          formatDateTime(job.created_at),
          job.at && fill(t.asOf, { time: formatDateTime(job.at) }),
          job.source && fill(t.from, { place: `${job.source.endpoint}/${job.source.bucket}/${job.source.prefix}` }),
          job.target && fill(t.to, { place: `${job.target.bucket ?? '?'}/${job.target.prefix}` }),
          examined,
          isOpen(job) && job.position && fill(t.position, { name: job.position }),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      {isNothingNew && <p className="small">{t.nothingNew}</p>}
      {counts.length > 0 && (
        <p className="small">
          {job.dry_run && `${t.would} `}
          {counts.map(([name, count]) => describeCount(name, count)).join(', ')}
        </p>
      )}
      {job.error && <p className="error-box">{describeEnd(job.error)}</p>}
      {job.changes.length > 0 && (
        <Names label={t.changes} items={job.changes.map(({ key, action }) => [key, action] as const)} />
      )}
      {job.obstacles.length > 0 && (
        <Names label={t.obstacles} items={job.obstacles.map(({ key, reason }) => [key, reason] as const)} />
      )}
    </li>
  );
}

function Names({ label, items }: { label: string; items: readonly (readonly [name: string, what: string])[] }) {
  return (
    <details className="small">
      <summary>{label}</summary>
      <ul className="failures">
        {items.map(([name, what]) => (
          <li key={`${name} ${what}`}>
            <span className="mono">{name}</span>: {what.replaceAll('_', ' ')}
          </li>
        ))}
      </ul>
    </details>
  );
}

export function ServerJobs({ accessKey, bucket, prefix }: { accessKey: Key; bucket: string; prefix: string }) {
  const { value, error, reload } = useLoaded(() => listJobs(accessKey, bucket), [accessKey, bucket]);
  const isRunning = value?.some(isOpen) ?? false;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer starts the next wait
  useEffect(() => {
    if (!isRunning) return;
    const timer = setTimeout(reload, POLL_MS);
    return () => clearTimeout(timer);
  }, [isRunning, value]);
  // When the last job has ended, the other tabs of the bucket reload to show its changes.
  useEffect(() => {
    if (isRunning) return () => notifyChange(bucket);
  }, [isRunning, bucket]);
  return (
    <section className="bucket-page stack-large" aria-label={storageTexts.tabs.jobs}>
      <JobForm accessKey={accessKey} bucket={bucket} prefix={prefix} onStarted={reload} />
      {error && <p className="error-box">{error}</p>}
      {value?.length === 0 && <p className="muted">{t.none}</p>}
      {value && value.length > 0 && (
        <ul className="card server-jobs" aria-label={t.list}>
          {value.map((job) => (
            <JobItem key={job.job_id} job={job} accessKey={accessKey} onChange={reload} />
          ))}
        </ul>
      )}
    </section>
  );
}
