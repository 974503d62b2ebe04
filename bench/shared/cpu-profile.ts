/** Profiles the Worker of a local server over the Chrome DevTools Protocol. */
import { once } from 'node:events';
import { WORKER_BUNDLE } from '../../dev/local/build.ts';
import { createStackReader } from '../../dev/local/original-stack.ts';

/** Sampling interval. A shorter one, or a profile of Miniflare's own Workers at the same time, slows the server down severalfold. */
const INTERVAL_US = 1_000;
const ROWS = 60;

interface Profile {
  readonly nodes: {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
      readonly columnNumber: number;
    };
    readonly children?: number[];
  }[];
  readonly samples: number[];
  readonly timeDeltas: number[];
}

/** Profiles the Worker, with its objects, while `work` runs. Prints the functions with the most time, callees included. */
export async function profileWhile(inspectorPort: number, work: () => Promise<void>): Promise<void> {
  const targets = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  const url = targets.map((target) => target.webSocketDebuggerUrl).find((each) => each.endsWith('tessera'));
  if (url === undefined) throw new Error(`no target in ${JSON.stringify(targets)}`);
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const call = async (method: string, params = {}) => {
    socket.send(JSON.stringify({ id: 1, method, params }));
    const [{ data }] = await once(socket, 'message');
    return JSON.parse(data).result;
  };
  await call('Profiler.enable');
  await call('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await call('Profiler.start');
  await work();
  const { profile } = await call('Profiler.stop');
  socket.close();
  print(profile);
}

type CallFrame = Profile['nodes'][number]['callFrame'];

/** Names functions of the Worker, which is minified, by the place where the source has them. */
function createNamer(): (callFrame: CallFrame) => string {
  const readStack = createStackReader(WORKER_BUNDLE);
  return ({ functionName, url, lineNumber, columnNumber }) =>
    readStack(`${functionName || '(anonymous)'} ${url.split('/').at(-1)}:${lineNumber + 1}:${columnNumber + 1}`);
}

function print({ nodes, samples, timeDeltas }: Profile): void {
  const nameOf = createNamer();
  const own = new Map<number, number>();
  for (const [i, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[i] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const times = new Map<string, { self: number; total: number }>();
  /** Adds up the time of a node and its callees. @param above names of the callers, whose totals already contain that time. */
  const visit = (id: number, above: readonly string[]): number => {
    const { callFrame, children = [] } = byId.get(id) as Profile['nodes'][number];
    const name = nameOf(callFrame);
    const self = own.get(id) ?? 0;
    const total = children.reduce((sum, child) => sum + visit(child, [...above, name]), self);
    const time = times.get(name) ?? { self: 0, total: 0 };
    time.self += self;
    if (!above.includes(name)) time.total += total;
    times.set(name, time);
    return total;
  };
  const idle = '(idle) :0:0';
  const all = visit(nodes[0]?.id ?? 0, []) - (times.get(idle)?.self ?? 0);
  for (const name of ['(root) :0:0', idle]) times.delete(name);
  const percent = (us: number) => `${((100 * us) / all).toFixed(1)}%`.padStart(6);
  console.log('total   self   of the time that is not idle, by function and line of the source');
  for (const [name, { self, total }] of [...times].sort(([, a], [, b]) => b.total - a.total).slice(0, ROWS))
    console.log(`${percent(total)} ${percent(self)}  ${name}`);
}
