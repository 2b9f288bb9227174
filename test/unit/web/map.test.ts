import assert from 'node:assert/strict';
import {
  boxFilter,
  centreOf,
  clustersOf,
  pointOf,
  viewAt,
  viewOf,
  widthOf,
  WORLD,
} from '../../../src/web/map.ts';
import { landPath } from '../../../src/tools/land.mjs';
import { mulberry } from '../../support/random.ts';

describe('The map', () => {
  it('shows all points, and stays within the world', () => {
    const seed = Date.now() % 1_000_000;
    const random = mulberry(seed);
    for (let round = 0; round < 500; round++) {
      const points = Array.from({ length: 1 + Math.floor(random() * 20) }, () => ({
        lat: random() * 180 - 90,
        lng: random() * 360 - 180,
      }));
      const view = viewOf(points);
      assert.ok(view.north <= 90 && view.north - view.height >= -90.000001, `seed ${seed}`);
      assert.ok(view.west >= -180 && view.west + widthOf(view) <= 180.000001, `seed ${seed}`);
      const clusters = clustersOf(points, view);
      const members = clusters.flatMap((cluster) => cluster.members).toSorted((a, b) => a - b);
      assert.deepEqual(members, [...points.keys()], `seed ${seed}`);
    }
    assert.deepEqual(viewOf([]), WORLD);
  });

  it('joins near points, and leaves out those outside the view', () => {
    const points = [
      { lat: 48.3, lng: 2.3 },
      { lat: 48.301, lng: 2.301 },
      { lat: 47, lng: 5 },
      { lat: -33, lng: 151 },
    ];
    const view = viewAt({ lat: 48, lng: 3 }, 10);
    assert.deepEqual(
      clustersOf(points, view).map(({ members }) => members),
      [[0, 1], [2]],
    );
    assert.equal(boxFilter(view), '_geoBoundingBox([53, 13], [43, -7])');
    assert.deepEqual(centreOf(viewAt({ lat: 89, lng: 179 }, 10)), { lat: 85, lng: 170 });
  });

  it('reads places as documents have them', () => {
    assert.deepEqual(pointOf({ lat: '1.5', lng: 2 }), { lat: 1.5, lng: 2 });
    for (const geo of [
      null,
      undefined,
      {},
      { lat: 1 },
      { lat: null, lng: 1 },
      { lat: 'x', lng: 1 },
    ]) {
      assert.equal(pointOf(geo), null);
    }
  });

  it('has coastlines that close, and cross no more than half of the world in a step', () => {
    const path = landPath() as string;
    const rings = path.split('z').slice(0, -1);
    assert.ok(rings.length > 500);
    for (const ring of rings) {
      const [begin, steps] = ring.slice(1).split('l');
      let [x, y] = begin!.split(' ').map(Number) as [number, number];
      const numbers = steps!.match(/-?\d+/g)!.map(Number);
      for (let at = 0; at < numbers.length; at += 2) {
        // Below the pole nothing is seen.
        assert.ok(Math.abs(numbers[at]!) < 1800 || y === 900, ring.slice(0, 40));
        x += numbers[at]!;
        y += numbers[at + 1]!;
        assert.ok(Math.abs(x) <= 5400 && Math.abs(y) <= 900, ring.slice(0, 40));
      }
      assert.deepEqual([x, y], begin!.split(' ').map(Number));
    }
  });
});
