/** Writes docs/reliability.md: `npm run reliability`. */
import { writeFileSync } from 'node:fs';
import { recordedRuns } from './support/record-run.ts';
import { PAGE, reliabilityPage } from './support/reliability-page.ts';

writeFileSync(PAGE, reliabilityPage(recordedRuns()));
