/** Text cells of the CSV export. */

/** A spreadsheet reads a cell that begins with one of these as a formula, also inside quotes (OWASP, "CSV Injection"). */
const FORMULA_START = /^[=+\-@\t\r\n＝＋－＠]/;

/**
 * Converts text to a cell: quoted as in RFC 4180 §2, and never a formula. A formula start gets an apostrophe before it. So
 * does an apostrophe: removing one leading apostrophe returns every text unchanged.
 */
export function toCsvCell(text: string): string {
  const safe = FORMULA_START.test(text) || text.startsWith("'") ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
