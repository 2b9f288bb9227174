/**
 * Limits the work of a run. An operation costs one unit plus the size of the data it processes: a
 * character of a string or an item of an array costs the same in a loop of the script and in a
 * function of the language.
 *
 * One script runs at a time, so the meter is a variable of the module.
 */
import { ScriptError } from './errors.ts';

/** Maximum units of one run. */
export const UNITS_MAX = 1_000_000;
/** Maximum processor time of one run. Only slow machines reach it before `UNITS_MAX`. */
export const RUN_MS_MAX = 5000;

/** Code units of strings, and items of arrays and maps, that cost one unit. */
const CHARACTERS_PER_UNIT = 256;
const ITEMS_PER_UNIT = 8;

/** Units between two reads of the clock: about 2 ms. */
const UNITS_PER_LOOK = 20_000;

// Between runs nothing is charged.
let left = Infinity;
let nextLook = 0;
let endMs = Infinity;

/** Processor time used by this process, in milliseconds. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Starts the meter at the beginning of a run. */
export function startMeter(): void {
  left = UNITS_MAX;
  nextLook = left - UNITS_PER_LOOK;
  endMs = usedMs() + RUN_MS_MAX;
}

/** Stops the meter at the end of a run. */
export function stopMeter(): void {
  left = Infinity;
}

/** Charges units. Throws a fatal `ScriptError` when none are left. */
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

/** Charges for work on `length` code units of strings. */
export function chargeText(length: number): void {
  if (length >= CHARACTERS_PER_UNIT) charge(Math.floor(length / CHARACTERS_PER_UNIT));
}

/** Charges for work on `count` items. */
export function chargeItems(count: number): void {
  if (count >= ITEMS_PER_UNIT) charge(Math.floor(count / ITEMS_PER_UNIT));
}
