/** `fetch` and WebSockets of Node for the account client. */
import WebSocket from 'ws';
import type { Network } from './session/client.ts';

export const NODE_NETWORK: Network = {
  fetch: (url, init) => fetch(url, init),
  openEvents(url, headers, { onMessage, onClose }) {
    const socket = new WebSocket(url, { headers, handshakeTimeout: 30_000, maxPayload: 16 * 1024 * 1024 });
    socket.on('message', (data) => onMessage(String(data)));
    socket.on('close', () => onClose());
    // A failure is followed by `close`.
    socket.on('error', () => {});
    return {
      send: (text) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      },
      close: () => socket.terminate(),
    };
  },
};
