import type { Command } from './command.ts';
import { healthCommand } from './health.ts';
import { importCommand } from './import.ts';

/** The commands that talk to a running server. */
export const COMMANDS: readonly Command[] = [importCommand, healthCommand];
