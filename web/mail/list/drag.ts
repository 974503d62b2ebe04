/** Lets the user drag conversations to folders and labels. The keys `v` (move) and `l` (label) do the same. */
import type { DragEvent } from 'react';
import { useState } from 'react';
import { plural } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { mailbox } from '../model/mailbox.ts';
import type { Row } from '../model/rows.ts';

/** The data type of dragged conversations. It distinguishes them from dragged files and texts. */
const TYPE = 'application/x-tessera-conversations';

let dragged: readonly Row[] = [];

/** Conversations that a drag of this row moves: all selected ones if the row is selected, otherwise only this one. */
function rowsWith(row: Row): Row[] {
  const { rows, selected } = mailbox.get();
  return selected.has(row.threadId) ? rows.filter((one) => selected.has(one.threadId)) : [row];
}

/** Whether the device has a mouse. Touch screens have swipe gestures instead of dragging. */
const hasMouse = (): boolean => matchMedia('(pointer: fine)').matches;

/** Attributes that make a row draggable. */
export const draggable = (row: Row) => ({
  draggable: hasMouse(),
  onDragStart: ({ dataTransfer }: DragEvent) => {
    dragged = rowsWith(row);
    dataTransfer.setData(TYPE, '');
    dataTransfer.effectAllowed = 'copyMove';
    const sign = document.createElement('div');
    sign.className = 'drag-sign';
    sign.textContent = plural(mailTexts.counts.conversations, dragged.length);
    document.body.append(sign);
    dataTransfer.setDragImage(sign, 0, 0);
    // The browser copies the drag image during this event, so the element can be removed afterwards.
    setTimeout(() => sign.remove());
  },
  onDragEnd: () => {
    dragged = [];
  },
});

/**
 * Attributes of a place where conversations can be dropped.
 * @param onDrop null if nothing can be dropped there.
 */
export function useDrop(effect: 'move' | 'copy', onDrop: ((rows: Row[]) => void) | null) {
  const [isOver, setOver] = useState(false);
  if (!onDrop) return { isOver: false, handlers: {} };
  const handlers = {
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes(TYPE)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = effect;
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      setOver(false);
      if (!event.dataTransfer.types.includes(TYPE)) return;
      event.preventDefault();
      onDrop([...dragged]);
    },
  };
  return { isOver, handlers };
}
