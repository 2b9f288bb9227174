/** Bodies of the routes on logs. */
import { boolean, nullable, object, oneOf, optionals, string, type Static } from './declare.ts';

/** Target of lines of the log. */
const TARGET = nullable(string({ minLength: 1, maxLength: 10_000, default: 'info' }));

export const LOG_STREAM = object(
  optionals({
    target: TARGET,
    mode: nullable(oneOf(['human', 'json'], { default: 'human' })),
    profileMemory: nullable(boolean({ default: false })),
  }),
);
export type LogStreamBody = Static<typeof LOG_STREAM>;

export const LOG_LEVEL = object(optionals({ target: TARGET }));
export type LogLevelBody = Static<typeof LOG_LEVEL>;
