/** Figures, and charts of how they changed. */
import type { JSX } from 'preact';

export function Figure({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

const WIDTH = 300;
const HEIGHT = 80;

interface ChartProps {
  title: string;
  values: readonly number[];
  show(value: number): string;
}

/** Draws the values from left to right. The greatest one has the full height. */
export function Chart({ title, values, show }: ChartProps): JSX.Element {
  const greatest = Math.max(1, ...values);
  // A single value becomes a horizontal line.
  const drawn = values.length === 1 ? [...values, ...values] : values;
  const step = WIDTH / Math.max(1, drawn.length - 1);
  const points = drawn.map(
    (value, position) =>
      `${(position * step).toFixed(1)},${(HEIGHT - (value / greatest) * (HEIGHT - 4) - 2).toFixed(1)}`,
  );
  const last = values.at(-1) ?? 0;
  const range = `from ${show(Math.min(...values, greatest))} to ${show(Math.max(0, ...values))}, last ${show(last)}`;
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title}: ${range}`}
        preserveAspectRatio="none"
      >
        <polyline points={points.join(' ')} />
      </svg>
      <small>{range}</small>
    </figure>
  );
}
