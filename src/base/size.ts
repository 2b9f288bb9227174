const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  kib: 2 ** 10,
  m: 1e6,
  mb: 1e6,
  mib: 2 ** 20,
  g: 1e9,
  gb: 1e9,
  gib: 2 ** 30,
  t: 1e12,
  tb: 1e12,
  tib: 2 ** 40,
  p: 1e15,
  pb: 1e15,
  pib: 2 ** 50,
};

/** Bytes of a text such as `100 MB`, `20MiB` or `4096`; undefined when it is not a size. */
export function parseSize(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text);
  if (match === null) return undefined;
  const unit = UNITS[match[2]!.toLowerCase()];
  if (unit === undefined) return undefined;
  const bytes = Math.floor(Number(match[1]) * unit);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** A limit for people: binary units when it is a multiple of 1024, else decimal ones. */
export function limitText(bytes: number): string {
  const [base, units] =
    bytes % 1024 === 0
      ? [1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const]
      : [1000, ['B', 'kB', 'MB', 'GB', 'TB'] as const];
  let unit = 0;
  let value = bytes;
  while (value >= base && unit < units.length - 1) {
    value /= base;
    unit++;
  }
  return `${Number(value.toFixed(2))} ${units[unit]}`;
}

/** Binary units with two decimals, such as `1.25 MiB`. */
export function humanSize(bytes: number): string {
  const [value, unit] = inBinaryUnits(bytes);
  return unit === 'B' ? `${value} B` : `${value.toFixed(2)} ${unit}`;
}

/** Binary units with as many decimals as needed, two at most, such as `50 MiB` and `1.5 KiB`. */
export function shortSize(bytes: number): string {
  const [value, unit] = inBinaryUnits(bytes);
  return `${Number(value.toFixed(2))} ${unit}`;
}

function inBinaryUnits(bytes: number): [number, string] {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return [value, units[unit]!];
}
