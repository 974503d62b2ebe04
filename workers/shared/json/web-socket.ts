/** Code that all objects with WebSockets share. */

/** Close codes that must never be sent in a frame (RFC 6455 §7.4.1). */
const UNSENDABLE_CODES = [1004, 1005, 1006, 1015];

/**
 * Answers a client's close frame with the same code (RFC 6455 §5.5.1), because the client waits for that. Does nothing if our side
 * closed first.
 */
export function answerClose(socket: WebSocket, code: number, reason: string): void {
  if (code < 1000 || code > 4999 || UNSENDABLE_CODES.includes(code)) socket.close();
  else socket.close(code, reason);
}
