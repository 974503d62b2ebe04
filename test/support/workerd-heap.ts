/** Measures the live memory of the Worker's isolate, over the inspector of workerd. */

interface Usage {
  readonly usedSize: number;
  readonly backingStorageSize: number;
}

/**
 * Collects garbage in the isolate.
 * @param wake makes a request, because the isolate collects garbage only while it handles requests.
 * @returns bytes of live objects and array buffers afterwards.
 */
export async function readHeap(inspectorPort: number, wake: () => Promise<unknown>): Promise<number> {
  const targets = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  const url = targets.map((target) => target.webSocketDebuggerUrl).find((each) => /tessera$/.test(each));
  if (url === undefined) throw new Error(`no target in ${JSON.stringify(targets)}`);
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const call = <T>(id: number, method: string) =>
    new Promise<T>((resolve) => {
      const listener = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data));
        if (message.id !== id) return;
        socket.removeEventListener('message', listener);
        resolve(message.result);
      };
      socket.addEventListener('message', listener);
      socket.send(JSON.stringify({ id, method }));
    });
  let isCollected = false;
  const collected = call(1, 'HeapProfiler.collectGarbage').then(() => {
    isCollected = true;
  });
  while (!isCollected) await wake();
  await collected;
  const usage = await call<Usage>(2, 'Runtime.getHeapUsage');
  socket.close();
  return usage.usedSize + usage.backingStorageSize;
}
