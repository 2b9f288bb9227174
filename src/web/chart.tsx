/** Figures, and charts of how they changed. */
import type { JSX } from 'preact';

interface FigureProps {
  name: string;
  value: string;
  /** More about the value, such as how it changed. */
  note?: string | undefined;
}

export function Figure({ name, value, note }: FigureProps): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {note === undefined ? null : <small class="count"> {note}</small>}
      </dd>
    </div>
  );
}

const WIDTH = 300;
const HEIGHT = 80;

interface ChartProps {
  title: string;
  values: readonly number[];
  show(value: number): string;
  /** What the first and the last value belong to, such as days. */
  ends?: readonly [string, string];
}

/** Draws the values from left to right. The greatest one has the full height. */
export function Chart({ title, values, show, ends }: ChartProps): JSX.Element {
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
      <div class="chart">
        <p class="axis" aria-hidden="true">
          <span>{show(greatest)}</span>
          <span>{show(0)}</span>
        </p>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          role="img"
          aria-label={`${title}: ${range}`}
          preserveAspectRatio="none"
        >
          {[0, 0.5, 1].map((part) => (
            <path key={part} class="grid" d={`M0 ${2 + part * (HEIGHT - 4)}H${WIDTH}`} />
          ))}
          <polygon points={`0,${HEIGHT - 2} ${points.join(' ')} ${WIDTH},${HEIGHT - 2}`} />
          <polyline points={points.join(' ')} />
        </svg>
        {ends === undefined ? null : (
          <p class="ends">
            <span>{ends[0]}</span>
            <span>{ends[1]}</span>
          </p>
        )}
      </div>
      <small>{range}</small>
    </figure>
  );
}
