/** Figures, and charts of how they changed. */
import type { ComponentChildren } from 'preact';
import { roundAbove } from './histogram.ts';

interface FigureProps {
  name: string;
  value: ComponentChildren;
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
/** Share of its place that a bar has. */
const BAR = 0.7;

interface ChartProps {
  title: string;
  /** null: nothing is known, which draws nothing. */
  values: readonly (number | null)[];
  show(value: number): string;
  /** Whether each value is a sum of its own, which a bar shows, and not a point of a course. */
  bars?: boolean;
  /** What the first and the last value belong to, such as days. */
  ends?: readonly [string, string];
  /** 1024 for bytes, whose round numbers are others. */
  unit?: number;
}

/** Draws the values from left to right, below a round number. */
export function Chart(props: ChartProps): JSX.Element {
  const { title, values, show, bars = false, ends, unit = 1000 } = props;
  const known = values.filter((value) => value !== null);
  const top = roundAbove(Math.max(0, ...known), unit);
  const range =
    known.length === 0
      ? 'nothing yet'
      : `from ${show(Math.min(...known))} to ${show(Math.max(...known))}, last ${show(known.at(-1)!)}`;
  return (
    <figure class="panel">
      <figcaption>{title}</figcaption>
      <div class="chart">
        <p class="axis" aria-hidden="true">
          {[top, top / 2, 0].map((value) => (
            <span key={value}>{show(value)}</span>
          ))}
        </p>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          role="img"
          aria-label={`${title}: ${range}`}
          preserveAspectRatio="none"
        >
          {[0, 0.5, 1].map((part) => (
            <path key={part} d={`M0 ${part * HEIGHT}H${WIDTH}`} />
          ))}
          {bars ? <Bars values={values} top={top} /> : <Course values={known} top={top} />}
        </svg>
        {ends === undefined ? null : (
          <p class="ends">
            <span>{ends[0]}</span>
            <span>{ends[1]}</span>
          </p>
        )}
      </div>
      <small class="count">{range}</small>
    </figure>
  );
}

interface DrawnProps<T> {
  values: readonly T[];
  /** The value that has the full height. */
  top: number;
}

function Bars({ values, top }: DrawnProps<number | null>): JSX.Element {
  const step = WIDTH / values.length;
  return (
    <>
      {values.map((value, at) =>
        value === null || value === 0 ? null : (
          <rect
            key={at}
            x={(at + (1 - BAR) / 2) * step}
            y={HEIGHT * (1 - value / top)}
            width={BAR * step}
            height={HEIGHT * (value / top)}
          />
        ),
      )}
    </>
  );
}

/** A line; a single value is a stroke at the end, because nothing is known before it. */
function Course({ values, top }: DrawnProps<number>): JSX.Element | null {
  const step = WIDTH / Math.max(1, values.length - 1);
  const at = (value: number, x: number): string =>
    `${x.toFixed(1)},${(HEIGHT * (1 - value / top)).toFixed(1)}`;
  const [first] = values;
  if (first === undefined) return null;
  const points =
    values.length === 1
      ? [at(first, WIDTH - 10), at(first, WIDTH)]
      : values.map((value, position) => at(value, position * step));
  return (
    <>
      {values.length === 1 ? null : (
        <polygon points={`0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
      )}
      <polyline points={points.join(' ')} />
    </>
  );
}
