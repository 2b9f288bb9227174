import type { Stage } from '../../contract/insights.ts';
import { count, milliseconds, percent } from '../format.ts';
import { Table, type TableColumn } from './table.tsx';

interface Bar extends Stage {
  /** Where it begins and how long it is, of the whole. */
  readonly begin: number;
  readonly share: number;
}

/** The stages of a search, one after the other. */
export function Timeline({ stages }: { stages: readonly Stage[] }): JSX.Element {
  const all = stages.reduce((sum, { ms }) => sum + ms, 0);
  let begin = 0;
  const bars = stages.map((stage): Bar => {
    const share = all === 0 ? 0 : stage.ms / all;
    begin += share;
    return { ...stage, begin: begin - share, share };
  });
  return (
    <Table label="Stages of the search" columns={COLUMNS} rows={bars} keyOf={(bar) => bar.name} />
  );
}

const COLUMNS: readonly TableColumn<Bar>[] = [
  { title: 'Stage', cell: ({ name }) => name },
  { title: 'Time', number: true, cell: ({ ms }) => milliseconds(ms) },
  {
    title: 'Share',
    cell: ({ begin, share }) => (
      <span class="number">
        <svg class="bar" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
          <rect class="used" x={begin} width={share} height="1" />
        </svg>
        <span>{percent(share)}</span>
      </span>
    ),
  },
  {
    title: 'CPU',
    number: true,
    cell: ({ cpuMs }) => (cpuMs === undefined ? null : milliseconds(cpuMs)),
  },
  {
    title: 'Size',
    number: true,
    cell: ({ unit, size = 0 }) => (unit === undefined ? null : `${count(size)} ${unit}`),
  },
];

const LENGTHS: Readonly<Record<string, number>> = { s: 1000, ms: 1, µs: 0.001 };

/** The stages in the member `performanceDetails` of a response. */
export function stagesFrom(details: Readonly<Record<string, string>>): Stage[] {
  const stages = new Map<string, Stage>();
  for (const [path, text] of Object.entries(details)) {
    const [, name, part] = path.split(' > ');
    if (name === undefined) continue;
    const stage: Stage = stages.get(name) ?? { name, ms: 0 };
    stages.set(name, stage);
    if (part === undefined) stage.ms = msFrom(text);
    else if (part === 'cpu') stage.cpuMs = msFrom(text);
    else [stage.unit, stage.size] = [part, Number(text)];
  }
  return [...stages.values()];
}

function msFrom(text: string): number {
  const [, number = '0', unit = 'ms'] = /^([\d.]+)(\D+)$/.exec(text) ?? [];
  return Number(number) * (LENGTHS[unit] ?? 1);
}
