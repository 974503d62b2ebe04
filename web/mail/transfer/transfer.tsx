/** Import and export of a mailbox as files. Each shows its progress, can be stopped, and ends with a summary. */
import { useState } from 'react';
import { confirmSession } from '../../shared/api.ts';
import { formatBytes, formatCount, formatNumber } from '../../shared/format.ts';
import { useStore } from '../../shared/store.ts';
import { mailbox, sortFolders } from '../model/mailbox.ts';
import {
  canExportWithProgress,
  type ExportState,
  endExport,
  exporting,
  saveFile,
  startExport,
  stopExport,
} from './export-mail.ts';
import { ImportGuide } from './import-guide.tsx';
import {
  type Counts,
  endImport,
  type ImportState,
  importing,
  resumeImport,
  startImport,
  stopImport,
} from './import-mail.ts';

const REASONS: Record<string, string> = {
  too_large: 'larger than 40 MB',
  over_quota: 'the mailbox is full',
  no_folder: 'its folder is gone',
};

function Result({ counts }: { counts: Counts }) {
  const reasons = Object.entries(counts.reasons).map(
    ([code, count]) => `${formatCount(count)} ${REASONS[code] ?? code}`,
  );
  return (
    <dl className="counts">
      <div>
        <dt>Imported</dt>
        <dd>{formatCount(counts.imported)}</dd>
      </div>
      <div>
        <dt>Already there</dt>
        <dd>{formatCount(counts.duplicates)}</dd>
      </div>
      <div>
        <dt>Not imported</dt>
        <dd>
          {formatCount(counts.failed)}
          {reasons.length > 0 && <span className="small"> ({reasons.join(', ')})</span>}
        </dd>
      </div>
    </dl>
  );
}

const describeResult = (counts: Counts): string =>
  counts.messages === 0
    ? 'There is no message in this file.'
    : `${formatCount(counts.imported)} of ${formatNumber(counts.messages, 'message')} imported.`;

function ImportProgress({ now }: { now: ImportState }) {
  const isRunning = now.state === 'running';
  return (
    <div className="stack">
      <progress max={now.totalBytes} value={now.doneBytes} aria-label="Import" />
      <p className="small muted">
        {formatNumber(now.counts.messages, 'message')}, {formatBytes(now.doneBytes)} of {formatBytes(now.totalBytes)}
      </p>
      {now.state === 'stopped' && (
        <p className="error-box" role="alert">
          {now.trouble ?? 'Stopped.'} What was imported stays.
        </p>
      )}
      {now.state === 'stopped' && <Result counts={now.counts} />}
      <div className="row wrap">
        {isRunning ? (
          <button type="button" onClick={stopImport}>
            Cancel
          </button>
        ) : (
          <>
            <button type="button" className="primary" onClick={resumeImport}>
              Go on
            </button>
            <button type="button" onClick={endImport}>
              Leave it
            </button>
          </>
        )}
      </div>
    </div>
  );
}

function Import() {
  const folders = useStore(mailbox, (state) => state.folders);
  const now = useStore(importing, (state) => state);
  const [folderId, setFolderId] = useState('');
  const targets = sortFolders(folders).filter((folder) => !['all', 'flagged', 'drafts'].includes(folder.role ?? ''));
  const target = folderId || targets[0]?.id || '';
  return (
    <section className="card stack" aria-label="Import">
      <h2>Import</h2>
      <p className="muted">Duplicates are skipped, so an import that was interrupted can simply be repeated.</p>
      {now.state === 'running' || now.state === 'stopped' ? (
        <ImportProgress now={now} />
      ) : (
        <>
          <ImportGuide />
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
              multiple
              onChange={(event) => {
                startImport([...(event.target.files ?? [])], target);
                event.target.value = '';
              }}
            />
          </label>
        </>
      )}
      <div role="status">
        {now.state === 'done' && (
          <>
            <p className="good-text">{describeResult(now.counts)}</p>
            <Result counts={now.counts} />
          </>
        )}
      </div>
    </section>
  );
}

function describeExport({ messages, bytes, expected }: ExportState): string {
  const whole = `${formatNumber(messages, 'message')}, ${formatBytes(bytes)}.`;
  return messages < expected ? `${whole} There should be ${formatCount(expected)}: try again.` : whole;
}

function Export() {
  const now = useStore(exporting, (state) => state);
  const folders = useStore(mailbox, (state) => state.folders);
  const expected = folders
    .filter((folder) => !['all', 'flagged', 'drafts'].includes(folder.role ?? ''))
    .reduce((sum, folder) => sum + folder.total, 0);
  return (
    <section className="card stack" aria-label="Export">
      <h2>Export</h2>
      <p className="muted">Every message as it came, in one mbox file that other programs read.</p>
      {now.state === 'running' && (
        <>
          <progress max={Math.max(now.expected, now.messages)} value={now.messages} aria-label="Export" />
          <p className="small muted">
            {formatCount(now.messages)} of {formatNumber(now.expected, 'message')}, {formatBytes(now.bytes)}
          </p>
        </>
      )}
      {now.state === 'stopped' && (
        <p className="error-box" role="alert">
          {now.trouble ?? 'Stopped.'} Nothing was saved.
        </p>
      )}
      <div role="status">
        {now.state === 'done' && (
          <p className={now.messages < now.expected ? 'warning-text' : 'good-text'}>{describeExport(now)}</p>
        )}
      </div>
      <div className="row wrap">
        {now.state === 'running' && (
          <button type="button" onClick={stopExport}>
            Cancel
          </button>
        )}
        {now.state === 'done' && (
          <>
            <button type="button" onClick={() => now.url && saveFile(now.url)}>
              Save it again
            </button>
            <button type="button" className="quiet" onClick={endExport}>
              Done
            </button>
          </>
        )}
        {(now.state === 'idle' || now.state === 'stopped') &&
          (canExportWithProgress() ? (
            <button type="button" onClick={() => void startExport(expected)}>
              Download everything
            </button>
          ) : (
            <button
              type="button"
              onClick={() => void confirmSession().then((isConfirmed) => isConfirmed && location.assign('/v1/export'))}
            >
              Download everything
            </button>
          ))}
      </div>
    </section>
  );
}

export function Transfer() {
  return (
    <div className="stack-large">
      <Import />
      <Export />
    </div>
  );
}
