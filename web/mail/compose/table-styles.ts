/** The styles of tables in a message. Pure. */
const CELL_STYLE = 'border:1px solid #8b877e;padding:4px 8px;min-width:2em;vertical-align:top';
/** Styles of tables in a sent message, by element. The editor's style sheet has the same styles. */
export const TABLE_STYLES: Readonly<Record<string, string>> = {
  table: 'border-collapse:collapse',
  td: CELL_STYLE,
  th: CELL_STYLE,
};
