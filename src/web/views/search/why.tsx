import { percent } from '../../format.ts';
import { scoreReasons } from '../../score-words.ts';
import type { Hit } from '../../search-request.ts';

interface Props {
  hit: Hit;
  /** Requests the details of the scores. */
  onExplain(): void;
}

export function Why({ hit, onExplain }: Props): JSX.Element {
  return (
    <details class="why" onToggle={(event) => event.currentTarget.open && onExplain()}>
      <summary>Why is this here?</summary>
      <Reasons hit={hit} />
    </details>
  );
}

/** The ranking rules in order, with what each found. */
export function Reasons({ hit }: { hit: Hit }): JSX.Element {
  const { _rankingScore: score, _rankingScoreDetails: details, _passages: [nearest] = [] } = hit;
  const reasons = details === undefined ? [] : scoreReasons(details);
  return (
    <>
      {score === undefined ? null : <p>Ranking score: {percent(score)}</p>}
      {details !== undefined && reasons.length === 0 ? (
        <p>The query is empty, so no ranking rule was applied.</p>
      ) : null}
      <ol>
        {reasons.map(({ rule, words, score: part }) => (
          <li key={rule}>
            <strong>{rule}</strong> {words}
            {part === null ? null : <span class="count"> {percent(part)}</span>}
          </li>
        ))}
      </ol>
      {nearest === undefined ? null : <p>Nearest passage: {nearest.text}</p>}
    </>
  );
}
