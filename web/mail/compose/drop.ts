/** Files dropped anywhere on the mail page go into the message being written, or begin one. Left to itself the browser would leave the page for them. */
import { startWriting } from './compose-state.ts';

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;

/** @returns how to stop. */
export function takeDroppedFiles(): () => void {
  const onDragOver = (event: DragEvent) => {
    if (hasFiles(event)) event.preventDefault();
  };
  const onDrop = (event: DragEvent) => {
    if (event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    // Taken now: the browser empties the event when it is over.
    const files = [...(event.dataTransfer?.files ?? [])];
    startWriting();
    void import('./uploads.ts').then(({ attach }) => attach(files));
  };
  addEventListener('dragover', onDragOver);
  addEventListener('drop', onDrop);
  return () => {
    removeEventListener('dragover', onDragOver);
    removeEventListener('drop', onDrop);
  };
}
