/** The logo of a board. It has no alternative text, because the title is beside it. */
import { usePicture } from './use-picture.ts';

/** @param path of the API; null without a logo. */
export function BoardLogo({ path }: { path: string | null | undefined }) {
  const load = path ? (signal: AbortSignal) => fetch(path, { credentials: 'omit', signal }) : null;
  const { url, forget } = usePicture(load, 'image/png', [path]);
  return url && <img className="board-logo" src={url} alt="" onError={forget} />;
}
