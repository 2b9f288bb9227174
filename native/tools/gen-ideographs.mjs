#!/usr/bin/env node
// Writes the table for native/text/ideographs.cc.
//   node gen-ideographs.mjs PACKAGE_DIR OUTPUT_FILE
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ideographForms } from './ideograph-forms.mjs';

const [packageDir, output] = process.argv.slice(2);
const forms = ideographForms(packageDir);
if (forms.length < 4000) {
  console.error(
    `expected some 4,000 ideographs with another form in ${packageDir}, found ${forms.length}`,
  );
  process.exit(1);
}
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, forms.map(([from, to]) => `{${from}, ${to}},\n`).join(''));
