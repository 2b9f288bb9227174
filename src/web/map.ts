/** What the map shows: which part of the world, and hits that are near each other as one. Pure. */

/** Degrees. */
export interface Point {
  readonly lat: number;
  readonly lng: number;
}

/** A part of the world, in degrees. It has twice as many degrees of longitude as of latitude. */
export interface View {
  readonly north: number;
  readonly west: number;
  /** Degrees of latitude. */
  readonly height: number;
}

export const WORLD: View = { north: 90, west: -180, height: 180 };
const HEIGHT_MIN = 0.5;

export function widthOf({ height }: View): number {
  return 2 * height;
}

/** The view with this centre, within the world. */
export function viewAt({ lat, lng }: Point, height: number): View {
  const fit = Math.min(180, Math.max(HEIGHT_MIN, height));
  return {
    north: Math.min(90, Math.max(-90 + fit, lat + fit / 2)),
    west: Math.max(-180, Math.min(180 - 2 * fit, lng - fit)),
    height: fit,
  };
}

export function centreOf(view: View): Point {
  return { lat: view.north - view.height / 2, lng: view.west + view.height };
}

/** The least view that has all points, with space around them; without points, the world. */
export function viewOf(points: readonly Point[]): View {
  if (points.length === 0) return WORLD;
  const [south, north] = ends(points.map(({ lat }) => lat));
  const [west, east] = ends(points.map(({ lng }) => lng));
  const height = Math.max(north - south, (east - west) / 2, 2) * 1.2;
  return viewAt({ lat: (south + north) / 2, lng: (west + east) / 2 }, height);
}

function ends(values: readonly number[]): [number, number] {
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

/** The filter for what the view shows. */
export function boxFilter({ north, west, height }: View): string {
  const [south, east] = [north - height, west + 2 * height];
  return `_geoBoundingBox([${north}, ${east}], [${south}, ${west}])`;
}

export interface Cluster extends Point {
  /** Positions of its points in the list. */
  readonly members: readonly number[];
}

/** Columns into which the view is divided. Points in one square are one cluster. */
const COLUMNS = 24;

/** Groups what the view shows. A cluster is in the middle of its points. */
export function clustersOf(points: readonly Point[], view: View): Cluster[] {
  const side = widthOf(view) / COLUMNS;
  const squares = new Map<string, number[]>();
  for (const [at, { lat, lng }] of points.entries()) {
    const x = Math.floor((lng - view.west) / side);
    const y = Math.floor((view.north - lat) / side);
    if (lng < view.west || lng > view.west + widthOf(view)) continue;
    if (lat > view.north || lat < view.north - view.height) continue;
    const key = `${x},${y}`;
    squares.set(key, [...(squares.get(key) ?? []), at]);
  }
  return [...squares.values()].map((members) => {
    const mean = (value: (point: Point) => number): number =>
      members.reduce((sum, at) => sum + value(points[at]!), 0) / members.length;
    return { members, lat: mean(({ lat }) => lat), lng: mean(({ lng }) => lng) };
  });
}

/** The place of a hit; null: it has none. */
export function pointOf(geo: unknown): Point | null {
  const { lat, lng } = (geo ?? {}) as { lat?: unknown; lng?: unknown };
  if (lat === undefined || lat === null || lng === undefined || lng === null) return null;
  const point = { lat: Number(lat), lng: Number(lng) };
  return Number.isNaN(point.lat + point.lng) ? null : point;
}
