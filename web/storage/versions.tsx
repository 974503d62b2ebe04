/** Versions of an object, newest first, with delete markers explained. */
import { formatBytes, formatDateTime, formatRelative } from '../shared/format.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { notifyChange } from './changes.ts';
import { type Key, linkTo, restoreVersion, s3, type Version } from './s3.ts';

const t = storageTexts.versions;

interface Props {
  accessKey: Key;
  bucket: string;
  name: string;
  versions: Version[];
  shown: string | null;
  onShow: (versionId: string | null) => void;
  onChanged: () => void;
}

export function Versions({ accessKey, bucket, name, versions, shown, onShow, onChanged }: Props) {
  const changed = (text: string) => {
    showToast(text);
    onChanged();
    notifyChange(bucket, [name]);
  };
  const download = async (version: Version) => {
    const url = await linkTo(accessKey, bucket, name, {
      expiresSeconds: 300,
      versionId: version.versionId,
      download: true,
    });
    location.assign(url);
  };
  const restore = (version: Version) =>
    restoreVersion(accessKey, bucket, name, version.versionId).then(
      () => changed(t.restoredAsNewestVersion),
      showError,
    );
  const remove = (version: Version) => {
    // Undoing a deletion loses nothing, so it asks nothing.
    if (!version.isMarker && !confirm(t.confirmErase)) return;
    s3(accessKey, { method: 'DELETE', bucket, key: name, query: { versionId: version.versionId } }).then(
      () => changed(version.isMarker ? t.deletionUndone : t.versionErased),
      showError,
    );
  };
  return (
    <ol className="timeline" aria-label={t.versionsNewestFirst}>
      {versions.map((version) => (
        <li
          key={version.versionId}
          className={version.isMarker ? 'marker' : ''}
          aria-current={version.versionId === shown ? 'true' : undefined}
        >
          <div className="row wrap">
            <time dateTime={version.modifiedAt} title={formatDateTime(version.modifiedAt)}>
              {formatRelative(version.modifiedAt)}
            </time>
            {version.isLatest && <span className="badge good">{t.newest}</span>}
            {version.isMarker ? (
              <span className="badge bad">{t.deleted}</span>
            ) : (
              <span className="muted small">{formatBytes(version.size)}</span>
            )}
          </div>
          {version.versionId !== 'null' && <p className="mono muted version-id">{version.versionId}</p>}
          {version.isMarker && <p className="small">{t.markerText}</p>}
          <div className="row wrap">
            {version.isMarker ? (
              <button type="button" className="small" onClick={() => remove(version)}>
                {t.undoDeletion}
              </button>
            ) : (
              <>
                <button
                  type="button"
                  className="quiet small"
                  onClick={() => onShow(version.isLatest ? null : version.versionId)}
                >
                  {t.see}
                </button>
                <button type="button" className="quiet small" onClick={() => void download(version)}>
                  {t.download}
                </button>
                {!version.isLatest && (
                  <button type="button" className="quiet small" onClick={() => void restore(version)}>
                    {t.restore}
                  </button>
                )}
                <button type="button" className="quiet small" onClick={() => remove(version)}>
                  {t.erase}
                </button>
              </>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}
