/** @returns a message with this subject, whose Message-ID and text name it too. @param more further header fields, each with CRLF. */
export const toMail = (subject: string, more = ''): string =>
  `From: Bob <bob@elsewhere.test>\r\nTo: ann@example.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@elsewhere.test>\r\nDate: Fri, 2 Jan 2026 03:04:05 +0000\r\n${more}\r\nHello ${subject}\r\n`;
