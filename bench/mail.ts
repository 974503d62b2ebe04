/** `npm run bench -- mail [mailbox …]`: a mailbox of 1,000 messages against one of 200,000. */
export async function run(options: readonly string[]): Promise<void> {
  const parts: Readonly<Record<string, () => Promise<void>>> = {
    mailbox: async () => (await import('./mail-mailbox.ts')).runMailbox(),
    sockets: async () => (await import('./mail-sockets.ts')).runSockets(),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (options.length > 0 && !options.includes(name)) continue;
    console.log(`\n${name}`);
    await part();
  }
}
