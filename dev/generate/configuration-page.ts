/** Renders `docs/configuration.md` from the settings schemas. */
import type { z } from 'zod';
import { type SettingFacts, settingFacts } from '../../workers/shared/settings/setting-types.ts';
import { settingsSchema } from '../../workers/shared/settings/settings-schema.ts';
import { deploySchema, startSchema } from '../deploy/environment.ts';

const WORKER_INTRODUCTION = `# Configuration

Written by \`npm run generate\` from \`workers/shared/settings/settings-schema.ts\` and \`dev/deploy/environment.ts\`. Do not edit.

Tessera checks every setting. A bad value or an unknown name stops \`npm start\` and \`npm run deploy\` before they change anything. A
deployed Worker answers requests that need a bad setting with 503 (\`misconfigured\`); \`GET /v1/health\` names it.

- **Variables** are in \`[vars]\` of \`wrangler.toml\`. \`npm run deploy\` takes them from its environment or from \`.deploy.vars\`; \`npm start\`
  takes them from \`.dev.vars\`. For one run, \`VAR_NAME=value npm start\` sets NAME.
- **Secrets** are never in \`wrangler.toml\`. \`npm run deploy\` takes them from its environment or from \`.deploy.secrets\`; \`npm start\` takes
  them from \`.dev.vars\`. \`wrangler secret put NAME\` replaces one.
- Empty means the default.
`;

const TOOLS_INTRODUCTION = `# Environment of the tools

The process environment of the commands, not of the Worker.
`;

export function toConfigurationPage(): string {
  return [
    WORKER_INTRODUCTION,
    ...toTables(settingsSchema),
    TOOLS_INTRODUCTION,
    ...toTables(startSchema),
    ...toTables(deploySchema),
  ].join('\n');
}

function toTables(schema: z.ZodObject): string[] {
  const rows = Object.entries(schema.shape).map(([name, setting]) => {
    const facts = settingFacts.get(setting);
    if (!facts) throw new Error(`${name} has no facts: declare it with a builder of setting-types.ts`);
    return { name, facts };
  });
  return [...Map.groupBy(rows, ({ facts }) => facts.group)].map(([group, some]) => {
    const lines = some.map(({ name, facts }) => toRow(name, facts));
    const head = ['| name | kind | value | default | meaning |', '|---|---|---|---|---|'];
    return `${[`## ${group}`, '', ...head, ...lines].join('\n')}\n`;
  });
}

function toRow(name: string, { allowed, fallback, meaning, isSecret, isLocal }: SettingFacts): string {
  const kind = `${isSecret ? 'secret' : 'variable'}${isLocal ? ', local only' : ''}`;
  const cells = [`\`${name}\``, kind, allowed, fallback, meaning];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
