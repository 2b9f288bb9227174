/**
 * Limits the work of one rendering. Every step is charged, and every filter, comparison and output
 * by the size of its operands before it runs. What is charged too little, such as a condition with
 * thousands of operands, is limited by the processor time of the thread. The time of day does not
 * count: whether a document can be rendered does not depend on how busy the machine is.
 */
import { readFileSync } from 'node:fs';
import { type FilterImplOptions, type Liquid, toValue } from 'liquidjs';

type FilterHandler = Extract<FilterImplOptions, (...given: never[]) => unknown>;

/** Maximum units of one rendering. A character costs one unit, about a nanosecond. */
export const WORK_MAX = 100_000_000;
/** Cost of copying an item, and of looking up, comparing or hashing one. */
const ITEM = 10;
const COMPARED_ITEM = 100;
/** Cost per character of cutting a text into pieces. */
const PIECE = 3;
/** Cost of one conversion of a date format. */
const CONVERSION = 500;
/** Characters that a text search compares per unit. In the worst case it compares all pairs. */
const COMPARED_CHARACTERS = 16;
/** Cost of converting a number or boolean to a text. */
const SCALAR = 10;
/**
 * Cost of a step: rendering a part of a template, reading a property, or evaluating an item of a
 * list.
 */
const STEP = 200;
/** Maximum processor time of one rendering in ms. Units are used up in less than half of it. */
const CPU_MS_MAX = 2_000;
/** Ms between two reads of the processor time, which takes about 10 microseconds. */
const LOOK_MS = 50;

/** The remaining units of one rendering. */
export class WorkLimit {
  #left = WORK_MAX;
  #nextLook = performance.now() + LOOK_MS;
  #endMs = Infinity;

  charge(units: number): void {
    // Written so that NaN counts as too much.
    if (!(units <= this.#left)) throw new Error('the template takes too much work');
    this.#left -= units;
  }

  chargeStep(): void {
    this.charge(STEP);
  }

  /** Charges a part of a template. */
  chargePart(now: number): void {
    this.chargeStep();
    if (now < this.#nextLook) return;
    this.#nextLook = now + LOOK_MS;
    const usedMs = threadCpuMs();
    if (this.#endMs === Infinity) this.#endMs = usedMs + CPU_MS_MAX;
    else if (usedMs > this.#endMs) throw new Error('the template takes too much work');
  }

  /**
   * Charges for converting a value to a text.
   * @returns the units charged
   */
  chargeText(value: unknown): number {
    if (typeof value === 'string') {
      this.charge(value.length);
      return value.length;
    }
    if (typeof value !== 'object' || value === null) {
      this.charge(SCALAR);
      return SCALAR;
    }
    const before = this.#left;
    const open: unknown[] = [value];
    while (open.length > 0) {
      const one = open.pop();
      if (typeof one === 'string') this.charge(one.length);
      else if (typeof one !== 'object' || one === null) this.charge(SCALAR);
      else if (Array.isArray(one)) {
        this.charge(one.length * ITEM);
        for (const item of one) open.push(item);
      } else {
        for (const [key, member] of Object.entries(one)) {
          this.charge(key.length + ITEM);
          open.push(member);
        }
      }
    }
    return before - this.#left;
  }
}

/** Processor time of this thread; 0 where the system does not report it. */
function threadCpuMs(): number {
  try {
    return Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1'), 10) / 1e6;
  } catch {
    return 0;
  }
}

/** Charges for a call of a filter; `input` is the value before the bar. */
type Cost = (work: WorkLimit, input: unknown, args: readonly unknown[]) => void;

/** Reads input and arguments as texts; `factor`: maximum characters of the result per character. */
const text =
  (factor = 1): Cost =>
  (work, input, args) => {
    work.charge(work.chargeText(input) * (factor - 1));
    for (const arg of args) work.chargeText(arg);
  };

/** Searches the input for the first argument. */
const search: Cost = (work, input, args) => {
  const length = work.chargeText(input);
  const [sought = 0] = args.map((arg) => work.chargeText(arg));
  work.charge((length * sought) / COMPARED_CHARACTERS);
};

/** Splits the input at each occurrence of the first argument. */
const cut: Cost = (work, input, args) => {
  search(work, input, args);
  work.charge(lengthOf(input) * PIECE);
};

/** Copies a list and any arguments that are lists. */
const items: Cost = (work, input, args) => {
  for (const value of [input, ...args]) {
    work.charge(Array.isArray(value) ? value.length * ITEM : lengthOf(value));
  }
};

/** Reads the path of the first argument in each item of a list, and compares with the second. */
const lookups: Cost = (work, input, args) => {
  const path = work.chargeText(args[0]) / COMPARED_CHARACTERS;
  const compared = args.length > 1 ? work.chargeText(args[1]) : 0;
  work.charge(lengthOf(input) * (COMPARED_ITEM + path + compared));
};

const sorting: Cost = (work, input, args) => {
  const count = Math.max(2, lengthOf(input));
  const steps = Math.log2(count);
  work.charge(count * COMPARED_ITEM + (work.chargeText(input) * steps) / COMPARED_CHARACTERS);
  for (const arg of args) work.chargeText(arg);
};

const COSTS: Readonly<Record<string, Cost>> = {
  first: items,
  last: items,
  size: () => {},
  default: () => {},
  compact: items,
  concat: items,
  reverse: items,
  slice: items,
  uniq: (work, input) => work.charge(lengthOf(input) * COMPARED_ITEM + work.chargeText(input)),
  map: lookups,
  where: lookups,
  sort: sorting,
  sort_natural: sorting,
  join: (work, input, args) => {
    work.charge(work.chargeText(input) + lengthOf(input) * work.chargeText(args[0] ?? ' '));
  },
  split: cut,
  // The library charges for the result before it builds it.
  replace: cut,
  replace_first: search,
  remove: cut,
  remove_first: search,
  escape: text(6),
  escape_once: text(7),
  newline_to_br: text(4),
  url_encode: text(9),
  url_decode: text(3),
  strip_html: text(2),
  truncatewords: text(1 + PIECE),
  date: (work, input, args) => {
    work.chargeText(input);
    const [conversions = 1] = args.map((arg) => work.chargeText(arg));
    work.charge((conversions + 1) * CONVERSION);
  },
};

/** The length of a list or a text; else 0. */
function lengthOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0;
}

/** Makes every filter of the library charge the work limit of its context before it runs. */
export function limitFilters(liquid: Liquid, workOf: (context: unknown) => WorkLimit): void {
  for (const [name, filter] of Object.entries(liquid.filters)) {
    const cost = COSTS[name] ?? text();
    const run = typeof filter === 'function' ? filter : filter.handler;
    const limited: FilterHandler = function (this, input: unknown, ...args: unknown[]) {
      cost(workOf(this.context), toValue(input), args.map(toValue));
      return run.call(this, input, ...args) as unknown;
    };
    const options: FilterImplOptions =
      typeof filter === 'function' ? limited : { ...filter, handler: limited };
    liquid.registerFilter(name, options);
  }
}

/** Charges for a comparison of two values. */
export function chargeComparison(
  work: WorkLimit,
  operator: string,
  left: unknown,
  right: unknown,
): void {
  if (operator === 'contains') {
    if (Array.isArray(left)) lookups(work, left, ['', right]);
    else search(work, left, [right]);
  } else if (isLong(left) && isLong(right)) {
    work.chargeText(left);
    work.chargeText(right);
  } else work.charge(1);
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}
