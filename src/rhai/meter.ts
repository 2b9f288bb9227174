/**
 * What a run may still spend. An operation costs one unit and what it touches: a character of a
 * string or an item of an array takes the same time whether a loop of the script looks at it or a
 * function of the language does.
 *
 * One script runs at a time, so the meter is that of the module.
 */
import { ScriptError } from './errors.ts';

/** Units of one run. */
export const UNITS_MAX = 1_000_000;
/** Processor time of one run. The units end a run long before, unless the machine is slow. */
export const RUN_MS_MAX = 5000;

/** Code units of strings, and items of arrays and maps, that cost one unit. */
const CHARACTERS_PER_UNIT = 256;
const ITEMS_PER_UNIT = 8;

/** Units between two looks at the clock: about 2 ms. */
const UNITS_PER_LOOK = 20_000;

// Between runs everything is free.
let left = Infinity;
let nextLook = 0;
let endMs = Infinity;

/** Milliseconds of processor time that this process has used. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Begins a run. */
export function startMeter(): void {
  left = UNITS_MAX;
  nextLook = left - UNITS_PER_LOOK;
  endMs = usedMs() + RUN_MS_MAX;
}

/** Ends a run: what follows costs nothing. */
export function stopMeter(): void {
  left = Infinity;
}

/** Throws a fatal `ScriptError` when nothing is left. */
export function charge(units: number): void {
  left -= units;
  if (left < nextLook) look();
}

function look(): void {
  if (left < 0) throw new ScriptError(`More than ${UNITS_MAX} operations`, true);
  nextLook = left - UNITS_PER_LOOK;
  if (usedMs() > endMs) {
    throw new ScriptError(`It ran for more than ${RUN_MS_MAX / 1000} s`, true);
  }
}

/** For work on that many code units of strings. */
export function chargeText(length: number): void {
  if (length >= CHARACTERS_PER_UNIT) charge(Math.floor(length / CHARACTERS_PER_UNIT));
}

/** For work on that many items. */
export function chargeItems(count: number): void {
  if (count >= ITEMS_PER_UNIT) charge(Math.floor(count / ITEMS_PER_UNIT));
}
