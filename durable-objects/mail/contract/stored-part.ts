/** The tree of a message's parts, as mail programs see it (RFC 3501 §7.4.2). */

/**
 * A part of a message. Texts are as the header has them, one character per byte. Positions count bytes of the raw message: `start` of
 * the header, `body` of the content after it, and `end` of the content.
 */
export interface StoredPart {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly id?: string;
  readonly description?: string;
  readonly encoding: string;
  readonly octets: number;
  /** Line feeds of a text or an attached message. */
  readonly lines?: number;
  readonly md5?: string;
  readonly disposition?: { readonly type: string; readonly parameters: Readonly<Record<string, string>> };
  readonly language?: readonly string[];
  readonly location?: string;
  readonly start: number;
  readonly body: number;
  readonly end: number;
  /** Parts of a multipart. */
  readonly parts?: readonly StoredPart[];
  /** The message in a part of the type message/rfc822. */
  readonly message?: StoredPart;
}
