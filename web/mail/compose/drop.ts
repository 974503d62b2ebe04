/**
 * Attaches files that are dropped on the mail page to the message being written, or starts one. By default the browser
 * would leave the page and open the file.
 */
import { startWriting } from './compose-state.ts';

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;

/** Listens for dropped files. @returns a function that stops listening. */
export function listenForDroppedFiles(): () => void {
  const onDragOver = (event: DragEvent) => {
    if (hasFiles(event)) event.preventDefault();
  };
  const onDrop = (event: DragEvent) => {
    if (event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    // Read the files now: the browser empties the event after its handlers.
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
