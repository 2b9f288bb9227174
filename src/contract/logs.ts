/** Bodies of the routes on logs. */
import type { Schema } from './schema.ts';

/** Target of lines of the log. */
const TARGET: Schema = {
  type: ['string', 'null'],
  minLength: 1,
  maxLength: 10_000,
  default: 'info',
};

export interface LogStreamBody {
  mode?: 'human' | 'json' | null;
  target?: string | null;
}

export const LOG_STREAM: Schema = {
  type: 'object',
  properties: {
    target: TARGET,
    mode: { type: ['string', 'null'], enum: ['human', 'json'], default: 'human' },
    profileMemory: { type: ['boolean', 'null'], default: false },
  },
  additionalProperties: false,
};

export interface LogLevelBody {
  target?: string | null;
}

export const LOG_LEVEL: Schema = {
  type: 'object',
  properties: { target: TARGET },
  additionalProperties: false,
};
