/** Text cells of the CSV export of standings. */

/** First characters of text that a spreadsheet reads as a formula, even inside quotes (OWASP, "CSV Injection"). */
const FORMULA_START = /^[=+\-@\t\r\n＝＋－＠]/;

/**
 * Converts text to a cell: quoted as in RFC 4180 §2, and never a formula. Text that begins like a formula gets an apostrophe before
 * it. Text that begins with an apostrophe gets one too, so that removing one leading apostrophe always restores the text.
 */
export function toCsvCell(text: string): string {
  const safe = FORMULA_START.test(text) || text.startsWith("'") ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
