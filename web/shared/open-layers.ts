/** Tells whether a dialog or a menu is open above the page. It may not have the focus yet: a menu gets it only after it is open. */
export const isLayerOpen = (): boolean => document.querySelector('dialog[open], [popover]:popover-open') !== null;
