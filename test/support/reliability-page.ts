/** `docs/reliability.md` from the record of long runs. */
import { type Campaign, CAMPAIGNS, type Recorded, RECORD_FILE } from './record-run.ts';

export const PAGE = 'docs/reliability.md';

const number = (n: number): string => Math.round(n).toLocaleString('en-US');

/** The row of a campaign. */
function row(campaign: Campaign, runs: readonly Recorded[]): string {
  const { counts, command, finds } = CAMPAIGNS[campaign];
  const own = runs.filter((run) => run.campaign === campaign);
  if (own.length === 0) return `| ${counts} | none yet | | ${finds} | \`${command}\` |`;
  const total = own.reduce((sum, { count }) => sum + count, 0);
  const { date, commit } = own.at(-1)!;
  return `| ${counts} | ${number(total)} in ${number(own.length)} | ${date}, ${commit} | ${finds} | \`${command}\` |`;
}

/** The ranges of seeds of each campaign, so that nobody runs them again. */
function seedsOf(runs: readonly Recorded[]): string[] {
  return (Object.keys(CAMPAIGNS) as Campaign[]).flatMap((campaign) => {
    const seeds = runs
      .filter((run) => run.campaign === campaign)
      .flatMap((run) => run.seeds ?? [])
      .slice(-5);
    return seeds.length === 0 ? [] : [`- ${CAMPAIGNS[campaign].counts}: ${seeds.join(', ')}`];
  });
}

export function reliabilityPage(runs: readonly Recorded[]): string {
  const campaigns = Object.keys(CAMPAIGNS) as Campaign[];
  return `# Reliability

\`npm run reliability\` writes this page from \`${RECORD_FILE}\`, to which long runs append. A run that finds a fault is not counted; the fault gets a line in [faults.md](internals/faults.md). [Tests](internals/testing.md) describes the campaigns, [promises](promises.md) what they hold.

| Counted | Total, runs | Last run | Looks for | Command |
|---|--:|---|---|---|
${campaigns.map((campaign) => row(campaign, runs)).join('\n')}

The newest seeds:

${seedsOf(runs).join('\n')}

Add one: \`GANNET_RECORD=1 COMMAND && npm run reliability\`. A commit with \`+\` had changed files.
`;
}
