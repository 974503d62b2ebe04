/** All buckets that the key can list, and a form to create one. */
import { type FormEvent, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { formatDateTime } from '../shared/format.ts';
import { toHash } from '../shared/hash-route.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { startDeletion } from './jobs.ts';
import { type Key, listBuckets, S3Error, s3 } from './s3.ts';

interface Emptying {
  bucket: string;
  /** Deletes the bucket once it is empty. */
  isDeletedAfter: boolean;
}

export function Buckets({ accessKey }: { accessKey: Key }) {
  const { value, error, isLoading, reload } = useLoaded(() => listBuckets(accessKey), [accessKey]);
  const [emptying, setEmptying] = useState<Emptying | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const create = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const bucket = String(new FormData(form).get('name')).trim();
    try {
      await s3(accessKey, { method: 'PUT', bucket });
      form.reset();
      setProblem(null);
      showToast(`Bucket ${bucket} made.`);
      reload();
    } catch (cause) {
      setProblem(describeError(cause));
    }
  };
  const remove = async (bucket: string) => {
    if (!confirm(`Delete the bucket ${bucket}?`)) return;
    try {
      await s3(accessKey, { method: 'DELETE', bucket });
      reload();
    } catch (cause) {
      if (cause instanceof S3Error && cause.code === 'BucketNotEmpty') setEmptying({ bucket, isDeletedAfter: true });
      else showError(cause);
    }
  };
  const empty = async ({ bucket, isDeletedAfter }: Emptying) => {
    const job = await startDeletion(accessKey, bucket, `Empty ${bucket}`, {
      keys: [],
      prefixes: [''],
      isPermanent: true,
    });
    if (job?.state !== 'done' || !isDeletedAfter) return;
    s3(accessKey, { method: 'DELETE', bucket }).then(() => {
      showToast(`Bucket ${bucket} deleted.`);
      reload();
    }, showError);
  };
  return (
    <div className="page stack-large">
      <h1>Buckets</h1>
      <form className="row new-bucket" onSubmit={create}>
        <input
          name="name"
          required
          minLength={3}
          maxLength={63}
          pattern="[a-z0-9][a-z0-9.\-]+[a-z0-9]"
          title="3 to 63 characters of a-z, 0-9, dot and hyphen"
          aria-label="Name of the new bucket"
          placeholder="name-of-a-new-bucket"
        />
        <button type="submit" className="primary">
          Make bucket
        </button>
      </form>
      {(problem ?? error) && (
        <p className="error-box" role="alert">
          {problem ?? error}
        </p>
      )}
      {emptying && (
        <DeleteDialog
          title={emptying.isDeletedAfter ? `${emptying.bucket} is not empty` : `Empty ${emptying.bucket}?`}
          text={`All objects in ${emptying.bucket} and all their versions are deleted permanently${
            emptying.isDeletedAfter ? ', then the bucket itself' : ''
          }. This cannot be undone.`}
          hasVersions
          isAlwaysPermanent
          nameToType={emptying.bucket}
          action={emptying.isDeletedAfter ? 'Empty and delete' : 'Empty bucket'}
          onConfirm={() => void empty(emptying)}
          onClose={() => setEmptying(null)}
        />
      )}
      {isLoading && !value && <p className="muted">Loading…</p>}
      {value?.length === 0 && (
        <p className="muted">No bucket yet. A bucket holds your objects; the first one is made above.</p>
      )}
      {value && value.length > 0 && (
        <div className="card table-scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Made</th>
                <th scope="col">
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.map((bucket) => (
                <tr key={bucket.name}>
                  <th scope="row" className="name-cell">
                    <a href={toHash(['b', bucket.name])}>{bucket.name}</a>
                  </th>
                  <td className="muted">{formatDateTime(bucket.createdAt)}</td>
                  <td className="numeric">
                    <button
                      type="button"
                      className="quiet small"
                      onClick={() => setEmptying({ bucket: bucket.name, isDeletedAfter: false })}
                    >
                      Empty…<span className="visually-hidden"> {bucket.name}</span>
                    </button>
                    <button type="button" className="quiet small" onClick={() => void remove(bucket.name)}>
                      Delete<span className="visually-hidden"> {bucket.name}</span>
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
