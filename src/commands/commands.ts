import type { Command } from './command.ts';
import { evaluateCommand } from './evaluate/evaluate.ts';
import { exportCommand } from './export.ts';
import { healthCommand } from './health.ts';
import { importCommand } from './import.ts';
import { migrateCommand } from './migrate.ts';
import { mcpCommand } from './mcp.ts';
import { tasksCommand } from './tasks.ts';

/** The commands that talk to a running server. */
export const COMMANDS: readonly Command[] = [
  importCommand,
  exportCommand,
  evaluateCommand,
  migrateCommand,
  tasksCommand,
  mcpCommand,
  healthCommand,
];
