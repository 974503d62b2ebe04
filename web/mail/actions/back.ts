/**
 * Keeps the history of the browser. An open conversation has an entry with its own address above that of its list, so Back returns
 * to the list. On a phone, Back also closes the message being written and the folders: each has an entry with the same address.
 */
import { readRoute } from '../../shared/hash-route.ts';
import { closeWriting } from '../compose/compose-state.ts';
import { compose } from '../compose/compose-store.ts';
import { view } from '../model/view.ts';
import { act, isNarrow } from './actions.ts';
import { listHash, showAddressed, threadHash, threadOf } from './addresses.ts';

interface Cover {
  isOpen: () => boolean;
  close: () => unknown;
}
const CONVERSATION: Cover = { isOpen: () => view.get().threadId !== null, close: act.close };
/** What covers the list on a phone, from the topmost to the lowest. */
const COVERS: readonly Cover[] = [
  { isOpen: () => compose.get().writing !== null, close: closeWriting },
  { isOpen: () => view.get().isFoldersOpen, close: () => view.set({ isFoldersOpen: false }) },
  CONVERSATION,
];

const openCovers = () => (isNarrow() ? COVERS : [CONVERSATION]).filter(({ isOpen }) => isOpen());
/** Number of covers at this entry of the history. */
const depth = (): number => (history.state as { covers?: number } | null)?.covers ?? 0;

/** Adds entries for what was opened, and gives the entry the address of the open conversation. */
function addEntries(): void {
  const { threadId } = view.get();
  const count = openCovers().length;
  // An address that was opened from outside has no entry of its list below it.
  if (count > 0 && depth() === 0 && threadOf(readRoute()) !== null) history.replaceState({ covers: 0 }, '', listHash());
  const hash = threadId === null ? undefined : threadHash(threadId);
  for (let covers = depth() + 1; covers <= count; covers += 1) history.pushState({ covers }, '', hash);
  if (hash !== undefined && count > 0 && threadOf(readRoute()) !== threadId)
    history.replaceState(history.state, '', hash);
}

/** @returns a function that stops. */
export function followBack(): () => void {
  // Closing and `history.go` take effect later. Until then, entries and covers do not agree.
  let isMoving = false;
  const update = () => {
    if (isMoving) return;
    addEntries();
    // A change that closes a cover may be the first half of another one, or of a new address.
    if (openCovers().length < depth()) setTimeout(leaveCovers);
  };
  const leaveCovers = () => {
    const steps = openCovers().length - depth();
    if (isMoving || steps >= 0) return;
    isMoving = true;
    history.go(steps);
  };
  const onPop = async () => {
    if (!isMoving) {
      isMoving = true;
      for (const { close } of openCovers().slice(0, Math.max(0, openCovers().length - depth()))) await close();
      showAddressed();
    }
    isMoving = false;
    update();
  };
  showAddressed();
  const stops = [compose.subscribe(update), view.subscribe(update)];
  addEventListener('popstate', onPop);
  update();
  return () => {
    removeEventListener('popstate', onPop);
    for (const stop of stops) stop();
  };
}
