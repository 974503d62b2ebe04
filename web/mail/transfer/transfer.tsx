/** Import and export of a mailbox as files. Each shows its progress, can be stopped, and ends with a summary. */
import { useState } from 'react';
import { confirmSession } from '../../shared/api.ts';
import { FileField, FileRow, FileRows } from '../../shared/files.tsx';
import { formatBytes, formatCount } from '../../shared/format.ts';
import { useStore } from '../../shared/store.ts';
import { fill, plural } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
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
import { Pulls } from './pulls.tsx';

const t = mailSettingsTexts.transfer;

const FILES_SHOWN_MAX = 6;

const REASONS: Record<string, string> = {
  too_large: t.reasons.tooLarge,
  over_quota: t.reasons.overQuota,
  no_folder: t.reasons.noFolder,
};

function Result({ counts }: { counts: Counts }) {
  const reasons = Object.entries(counts.reasons).map(
    ([code, count]) => `${formatCount(count)} ${REASONS[code] ?? code}`,
  );
  return (
    <dl className="counts">
      <div>
        <dt>{t.imported}</dt>
        <dd>{formatCount(counts.imported)}</dd>
      </div>
      <div>
        <dt>{t.alreadyThere}</dt>
        <dd>{formatCount(counts.duplicates)}</dd>
      </div>
      <div>
        <dt>{t.notImported}</dt>
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
    ? t.noMessages
    : fill(t.result, {
        imported: formatCount(counts.imported),
        messages: plural(mailSettingsTexts.counts.messages, counts.messages),
      });

/** The current file and the next ones. One file alone has the progress of the import. */
function Files({ now: { files, at, offset } }: { now: ImportState }) {
  const start = Math.max(0, Math.min(at, files.length - FILES_SHOWN_MAX));
  return (
    <FileRows label={t.files}>
      {files.slice(start, start + FILES_SHOWN_MAX).map((file, index) => {
        const done = start + index < at ? 1 : start + index === at ? offset / Math.max(1, file.size) : 0;
        return (
          <FileRow
            key={`${file.name} ${file.size} ${file.lastModified}`}
            name={file.name}
            size={file.size}
            {...(files.length > 1 ? { progress: done } : {})}
          />
        );
      })}
    </FileRows>
  );
}

function ImportProgress({ now }: { now: ImportState }) {
  const isRunning = now.state === 'running';
  return (
    <div className="stack">
      <progress max={now.totalBytes} value={now.doneBytes} aria-label={t.import} />
      <Files now={now} />
      <p className="small muted">
        {fill(t.importProgress, {
          messages: plural(mailSettingsTexts.counts.messages, now.counts.messages),
          doneBytes: formatBytes(now.doneBytes),
          totalBytes: formatBytes(now.totalBytes),
        })}
      </p>
      {now.state === 'stopped' && (
        <p className="error-box" role="alert">
          {fill(t.importStopped, { trouble: now.trouble ?? t.stopped })}
        </p>
      )}
      {now.state === 'stopped' && <Result counts={now.counts} />}
      <div className="row wrap">
        {isRunning ? (
          <button type="button" onClick={stopImport}>
            {t.cancel}
          </button>
        ) : (
          <>
            <button type="button" className="primary" onClick={resumeImport}>
              {t.goOn}
            </button>
            <button type="button" onClick={endImport}>
              {t.leave}
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
    <section className="card stack" aria-label={t.import}>
      <h2>{t.import}</h2>
      <p className="muted">{t.importText}</p>
      {now.state === 'running' || now.state === 'stopped' ? (
        <ImportProgress now={now} />
      ) : (
        <>
          <ImportGuide />
          <label className="row">
            {t.into}
            <select value={target} onChange={(event) => setFolderId(event.target.value)}>
              {targets.map((folder) => (
                <option key={folder.id} value={folder.id}>
                  {folder.name}
                </option>
              ))}
            </select>
          </label>
          <FileField label={t.file} isMultiple onFiles={(files) => startImport(files, target)} />
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
  return fill(messages < expected ? t.exportedPart : t.exported, {
    messages: plural(mailSettingsTexts.counts.messages, messages),
    size: formatBytes(bytes),
    expected: formatCount(expected),
  });
}

function Export() {
  const now = useStore(exporting, (state) => state);
  const folders = useStore(mailbox, (state) => state.folders);
  const expected = folders
    .filter((folder) => !['all', 'flagged', 'drafts'].includes(folder.role ?? ''))
    .reduce((sum, folder) => sum + folder.total, 0);
  return (
    <section className="card stack" aria-label={t.export}>
      <h2>{t.export}</h2>
      <p className="muted">{t.exportText}</p>
      {now.state === 'running' && (
        <>
          <progress max={Math.max(now.expected, now.messages)} value={now.messages} aria-label={t.export} />
          <p className="small muted">
            {fill(t.exportProgress, {
              messages: formatCount(now.messages),
              expected: plural(mailSettingsTexts.counts.messages, now.expected),
              bytes: formatBytes(now.bytes),
            })}
          </p>
        </>
      )}
      {now.state === 'stopped' && (
        <p className="error-box" role="alert">
          {fill(t.exportStopped, { trouble: now.trouble ?? t.stopped })}
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
            {t.cancel}
          </button>
        )}
        {now.state === 'done' && (
          <>
            <button type="button" onClick={() => now.url && saveFile(now.url)}>
              {t.saveAgain}
            </button>
            <button type="button" className="quiet" onClick={endExport}>
              {t.done}
            </button>
          </>
        )}
        {(now.state === 'idle' || now.state === 'stopped') &&
          (canExportWithProgress() ? (
            <button type="button" onClick={() => void startExport(expected)}>
              {t.downloadEverything}
            </button>
          ) : (
            <button
              type="button"
              onClick={() => void confirmSession().then((isConfirmed) => isConfirmed && location.assign('/v1/export'))}
            >
              {t.downloadEverything}
            </button>
          ))}
      </div>
    </section>
  );
}

export function Transfer() {
  return (
    <div className="stack-large">
      <Pulls />
      <Import />
      <Export />
    </div>
  );
}
