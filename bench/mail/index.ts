/** `npm run bench -- mail [mailbox|transport|sockets …]`: large and small mailboxes, transport and its floor, WebSockets. */
export async function run(options: readonly string[]): Promise<void> {
  const parts: Readonly<Record<string, () => Promise<void>>> = {
    mailbox: async () => (await import('./mailbox.ts')).runMailbox(),
    transport: async () => (await import('./transport.ts')).runTransport(),
    sockets: async () => (await import('./sockets.ts')).runSockets(),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (options.length > 0 && !options.includes(name)) continue;
    console.log(`\n${name}`);
    await part();
  }
}
