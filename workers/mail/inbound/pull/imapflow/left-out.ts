/**
 * Stands in for packages of imapflow that a pull does not use: connections through proxies (`socks`), a log (`pino`), and streams of
 * decoded parts (`encoding-japanese`, `libmime`, `@zone-eu/mailsplit`). A pull reads whole messages, which the Worker parses itself.
 */

function fail(): never {
  throw new Error('This part of imapflow is not in the Worker.');
}

export const SocksClient = { createConnection: fail };

export class Headers {
  constructor() {
    fail();
  }
}

/** Default export of every package that this module stands in for. */
export default class LeftOut {
  static readonly convert = fail;
  static readonly parseHeaderValue = fail;

  constructor() {
    fail();
  }

  /** Leaves a text of an envelope or of a part's parameters as it is. A pull asks for neither, but a server may send them. */
  static decodeWords(text: string): string {
    return text;
  }
}
