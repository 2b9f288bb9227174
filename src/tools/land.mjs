// Coastlines for the page's map: Natural Earth, public domain, from the package `world-atlas`.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

/** Tenths of a degree, about 11 km. */
const UNITS = 10;

/**
 * The land as an SVG path in tenths of a degree, longitude to the right and latitude upside down.
 * Points that differ by less than a unit are one.
 */
export function landPath() {
  const file = createRequire(import.meta.url).resolve('world-atlas/land-50m.json');
  const { arcs, objects, transform } = JSON.parse(readFileSync(file, 'utf8'));
  const lines = arcs.map((arc) => pointsOf(arc, transform));
  const polygons = objects.land.geometries.flatMap(({ type, arcs: own }) =>
    type === 'Polygon' ? [own] : own,
  );
  return polygons
    .flat()
    .map((ring) => ringPath(ring, lines))
    .join('');
}

/** The points of a TopoJSON arc, each of which is given as its distance from the one before. */
function pointsOf(arc, { scale, translate }) {
  let [x, y] = [0, 0];
  return arc.map(([dx, dy]) => {
    x += dx;
    y += dy;
    const [lng, lat] = [x * scale[0] + translate[0], y * scale[1] + translate[1]];
    return [Math.round(lng * UNITS), Math.round(-lat * UNITS)];
  });
}

/** Tenths of a degree around the world. */
const AROUND = 360 * UNITS;

/**
 * A ring that crosses the 180th meridian goes on beyond it, instead of back across the world; what
 * lies beyond is drawn at the other edge, too. A ring around a pole is closed below it.
 * @param ring numbers of arcs; a negative one, ~number, is walked backwards
 */
function ringPath(ring, lines) {
  const points = ring.flatMap((number) =>
    number < 0 ? lines[~number].toReversed() : lines[number],
  );
  let turns = 0;
  const unrolled = points.map(([x, y], at) => {
    const step = at === 0 ? 0 : x - points[at - 1][0];
    if (Math.abs(step) > AROUND / 2) turns -= Math.sign(step);
    return [x + turns * AROUND, y];
  });
  if (turns !== 0) unrolled.push([unrolled.at(-1)[0], 900], [unrolled[0][0], 900], unrolled[0]);
  const columns = unrolled.map(([x]) => x);
  const copies = [-AROUND, 0, AROUND].filter(
    (by) => Math.max(...columns) + by > -AROUND / 2 && Math.min(...columns) + by < AROUND / 2,
  );
  return copies.map((by) => closedPath(cut(unrolled.map(([x, y]) => [x + by, y])))).join('');
}

/** Most points beyond the edges of the world, where nothing is seen, are left out. */
function cut(points) {
  const edge = AROUND / 2 + 3 * UNITS;
  const near = points.map(([x, y]) => [Math.max(-edge, Math.min(edge, x)), y]);
  return near.filter(
    ([x], at) => Math.abs(x) < edge || near[at - 1]?.[0] !== x || near[at + 1]?.[0] !== x,
  );
}

/** Whether leaving `b` out changes the area of the land by at most half a square unit. */
function isSpare([ax, ay], [bx, by], [cx, cy]) {
  const area = Math.abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay));
  // Many small differences in a row would become a large one.
  return area === 0 || (area <= 1 && Math.hypot(cx - ax, cy - ay) <= UNITS);
}

function thinned(points) {
  const kept = [points[0]];
  for (let at = 1; at < points.length; at++) {
    const next = points[at + 1];
    if (next === undefined || !isSpare(kept.at(-1), points[at], next)) kept.push(points[at]);
  }
  return kept;
}

function closedPath(points) {
  const kept = thinned(points);
  const steps = kept.slice(1).map(([x, y], at) => [x - kept[at][0], y - kept[at][1]]);
  // An island smaller than a unit.
  if (steps.length < 3) return '';
  const text = steps.flat().join(' ').replaceAll(' -', '-');
  return `M${kept[0].join(' ')}l${text}z`;
}
