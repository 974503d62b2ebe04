/** A mailbox as files: import with progress, export. */
import { useState } from 'react';
import { formatBytes, formatCount } from '../shared/format.ts';
import { useStore } from '../shared/store.ts';
import { sortFolders } from './folders.tsx';
import { mailbox, refreshAll } from './mailbox.ts';

interface Report {
  messages: number;
  imported: number;
  duplicates: number;
  failed: number;
}

type Progress =
  | { state: 'idle' }
  | { state: 'sending'; name: string; sent: number; size: number }
  | { state: 'sorting'; name: string }
  | { state: 'done'; report: Report }
  | { state: 'failed'; text: string };

/** The file goes up with its progress; the answer comes when its messages are stored. */
function importFile(file: File, folderId: string, onProgress: (progress: Progress) => void): void {
  const request = new XMLHttpRequest();
  request.open('POST', `/v1/import?folder_id=${encodeURIComponent(folderId)}`);
  request.setRequestHeader('content-type', /\.eml$/i.test(file.name) ? 'message/rfc822' : 'application/mbox');
  request.responseType = 'json';
  request.upload.onprogress = (event) =>
    onProgress({ state: 'sending', name: file.name, sent: event.loaded, size: file.size });
  request.upload.onload = () => onProgress({ state: 'sorting', name: file.name });
  request.onload = () => {
    if (request.status === 200) {
      onProgress({ state: 'done', report: request.response as Report });
      refreshAll();
    } else {
      const problem = request.response as { detail?: string } | null;
      onProgress({ state: 'failed', text: problem?.detail ?? `The server answered ${request.status}.` });
    }
  };
  request.onerror = () => {
    onProgress({
      state: 'failed',
      text: 'The server cannot be reached. What arrived is kept; give the same file again.',
    });
  };
  request.send(file);
}

function describe(report: Report): string {
  const parts = [`${formatCount(report.imported)} of ${formatCount(report.messages)} messages imported`];
  if (report.duplicates > 0) parts.push(`${formatCount(report.duplicates)} were here already`);
  if (report.failed > 0) parts.push(`${formatCount(report.failed)} could not be read`);
  return `${parts.join(', ')}.`;
}

export function Transfer() {
  const folders = useStore(mailbox, (state) => state.folders);
  const [folderId, setFolderId] = useState('');
  const [progress, setProgress] = useState<Progress>({ state: 'idle' });
  const targets = sortFolders(folders).filter((folder) => !['all', 'flagged', 'drafts'].includes(folder.role ?? ''));
  const target = folderId || targets[0]?.id || '';
  const isBusy = progress.state === 'sending' || progress.state === 'sorting';
  return (
    <div className="stack-large">
      <section className="card stack" aria-label="Import">
        <h2>Import</h2>
        <p className="muted">
          An mbox file of another service, or one message (.eml). What is here already is not added again, so an import
          that was cut off is simply repeated.
        </p>
        <label className="row">
          Into
          <select value={target} onChange={(event) => setFolderId(event.target.value)}>
            {targets.map((folder) => (
              <option key={folder.id} value={folder.id}>
                {folder.name}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>File</span>
          <input
            type="file"
            accept=".mbox,.eml,application/mbox,message/rfc822"
            disabled={isBusy}
            onChange={(event) => {
              const file = event.target.files?.[0];
              if (file) importFile(file, target, setProgress);
              event.target.value = '';
            }}
          />
        </label>
        <div role="status">
          {progress.state === 'sending' && (
            <>
              <progress max={progress.size} value={progress.sent} aria-label={`${progress.name} on its way`} />
              <p className="small muted">
                {formatBytes(progress.sent)} of {formatBytes(progress.size)}
              </p>
            </>
          )}
          {progress.state === 'sorting' && (
            <>
              <progress aria-label={`${progress.name} is sorted in`} />
              <p className="small muted">The messages are being stored …</p>
            </>
          )}
          {progress.state === 'done' && <p className="good-text">{describe(progress.report)}</p>}
          {progress.state === 'failed' && <p className="error-box">{progress.text}</p>}
        </div>
      </section>
      <section className="card stack" aria-label="Export">
        <h2>Export</h2>
        <p className="muted">Every message as it came, in one mbox file that other programs read.</p>
        <div>
          <a className="button" href="/v1/export" download="mail.mbox">
            Download everything
          </a>
        </div>
      </section>
    </div>
  );
}
