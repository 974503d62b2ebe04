/** The logo of a board. It has no alternative text, because the title is beside it. */
import { usePicture } from './use-picture.ts';

interface BoardLogoProps {
  /** API path of the logo; null without a logo. */
  path: string | null | undefined;
  /** Reads a logo that needs a credential, because its board is not public. By default the logo is read without one. */
  read?: (path: string, signal: AbortSignal) => Promise<Response>;
}

const readPublic = (path: string, signal: AbortSignal) => fetch(path, { credentials: 'omit', signal });

export function BoardLogo({ path, read = readPublic }: BoardLogoProps) {
  const load = path ? (signal: AbortSignal) => read(path, signal) : null;
  const { url, forget } = usePicture(load, 'image/png', [path]);
  return url && <img className="board-logo" src={url} alt="" onError={forget} />;
}
