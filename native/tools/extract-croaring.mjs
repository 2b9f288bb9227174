#!/usr/bin/env node
// Cuts CRoaring out of the amalgamation that the npm package `roaring` carries.
//   node extract-croaring.mjs PACKAGE_DIR OUTPUT_DIR
// The amalgamation marks the origin of its lines with #line directives; the lines that come from
// submodules/CRoaring form two contiguous spans: the headers, then the sources. Any other number of
// spans means that the package has changed, and stops the build.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [packageDir, outputDir] = process.argv.slice(2);
const spans = [];
let current = null;
for (const line of readFileSync(join(packageDir, 'roaring-node.cpp'), 'utf8').split('\n')) {
  const marker = /^#line \d+ "([^"]+)"/.exec(line);
  if (marker) {
    const inside = marker[1].includes('submodules/CRoaring');
    if (inside && !current) spans.push((current = []));
    if (!inside) current = null;
    continue;
  }
  current?.push(line);
}
if (spans.length !== 2) {
  console.error(`expected two spans of CRoaring in ${packageDir}, found ${spans.length}`);
  process.exit(1);
}
mkdirSync(outputDir, { recursive: true });
writeFileSync(join(outputDir, 'roaring.h'), spans[0].join('\n'));
writeFileSync(join(outputDir, 'roaring.c'), '#include "roaring.h"\n' + spans[1].join('\n'));
