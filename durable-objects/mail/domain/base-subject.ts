/** Base subjects (RFC 5256 §2.1): subjects without their reply and forward marks. */

/** A mark: `Re:`, `Fwd:` or a common translation, with an optional `[blob]` or count before the colon. */
const MARK =
  /^(?:re|fw|fwd|aw|wg|sv|vs|antw|tr|rv|enc|odp|回复|答复|转发|回覆|返信)\s*(?:\[[^\][]*\]|\(\d+\)|\^\d+)?\s*[:：]\s*/iu;
const BLOB = /^\[[^\][]*\]\s*/;
const TRAILER = /\s*\(fwd\)\s*$/i;
const FORWARD_HEADER = /^\[fwd:(.*)\]$/i;

export interface BaseSubject {
  readonly base: string;
  /** True if a mark was removed: the message is a reply or a forward. */
  readonly isReply: boolean;
}

/** @param subject the decoded subject. @returns its base subject with folded case, so that base subjects can be compared. */
export function toBaseSubject(subject: string): BaseSubject {
  let text = subject.replace(/\s+/g, ' ').trim();
  let isReply = false;
  // The loop ends: each round removes at least one character or is the last one. A subject has at most a few kilobytes.
  for (;;) {
    const before = text;
    if (TRAILER.test(text)) {
      text = text.replace(TRAILER, '');
      isReply = true;
    }
    const marked = text.replace(MARK, '');
    if (marked !== text) {
      isReply = true;
      text = marked;
    } else {
      // Removes the [name] of a mailing list, unless it is the whole subject (RFC 5256 §2.1 step 4).
      const rest = text.replace(BLOB, '');
      if (rest !== '') text = rest;
      const forwarded = FORWARD_HEADER.exec(text);
      if (forwarded) {
        text = (forwarded[1] ?? '').trim();
        isReply = true;
      }
    }
    if (text === before) return { base: text.toLowerCase().slice(0, 300), isReply };
  }
}

/**
 * @returns a part of a base subject that each subject with this base contains after SQLite's `lower()`, which folds only ASCII: the
 * longest run of letters and digits without `i` and `k`, which Unicode also folds from the Turkish and the Kelvin capitals. Empty if
 * there is none: each text contains that.
 */
export const toSubjectPart = (base: string): string =>
  (base.match(/[a-hjl-z0-9]+/g) ?? []).reduce((longest, part) => (part.length > longest.length ? part : longest), '');
