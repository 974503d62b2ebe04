/**
 * On a phone, the system's Back closes what covers the list: the message being written, the folders or the conversation. Each of
 * them that is open has an entry in the history, with the same address.
 */
import { closeWriting } from '../compose/compose-state.ts';
import { compose } from '../compose/compose-store.ts';
import { view } from '../model/view.ts';
import { act, isNarrow } from './actions.ts';

/** From the topmost to the lowest. */
const COVERS = [
  { isOpen: () => compose.get().writing !== null, close: closeWriting },
  { isOpen: () => view.get().isFoldersOpen, close: () => view.set({ isFoldersOpen: false }) },
  { isOpen: () => view.get().threadId !== null, close: act.close },
];

const openCovers = () => (isNarrow() ? COVERS.filter(({ isOpen }) => isOpen()) : []);
/** Number of covers at this entry of the history. */
const depth = (): number => (history.state as { covers?: number } | null)?.covers ?? 0;

/** @returns a function that stops. */
export function followBack(): () => void {
  // Closing and `history.go` take effect later. Until then, entries and covers do not agree.
  let isMoving = false;
  const update = () => {
    if (isMoving) return;
    const count = openCovers().length;
    for (let covers = depth() + 1; covers <= count; covers += 1) history.pushState({ covers }, '');
    // A change that closes a cover may be the first half of another one, or of a new address.
    if (count < depth()) setTimeout(leaveCovers);
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
    }
    isMoving = false;
    update();
  };
  const stops = [compose.subscribe(update), view.subscribe(update)];
  addEventListener('popstate', onPop);
  update();
  return () => {
    removeEventListener('popstate', onPop);
    for (const stop of stops) stop();
  };
}
