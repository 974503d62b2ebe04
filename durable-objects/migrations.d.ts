/** Type of the module that drizzle-kit generates beside the migrations of an object class. */
declare module '*/migrations.js' {
  const bundle: {
    journal: { entries: { idx: number; when: number; tag: string; breakpoints: boolean }[] };
    migrations: Record<string, string>;
  };
  export default bundle;
}
