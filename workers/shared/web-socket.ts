/** What the objects that hold WebSockets have in common. */

/** Never sent in a frame: they tell a program what it did not get (RFC 6455 §7.4.1). */
const UNSENDABLE_CODES = [1004, 1005, 1006, 1015];

/** Answers a client's close frame with its own code (§5.5.1); until then the client waits. Does nothing after our own close. */
export function answerClose(socket: WebSocket, code: number, reason: string): void {
  if (code < 1000 || code > 4999 || UNSENDABLE_CODES.includes(code)) socket.close();
  else socket.close(code, reason);
}
