import { counted, percent, size } from '../../format.ts';
import type { Progress } from '../../import/send-file.ts';

/** How far a file is. */
export function ImportProgress(props: { file: File; progress: Progress }): JSX.Element {
  const { file, progress } = props;
  const { read, sent, badCount, indexed } = progress;
  return (
    <>
      <label>
        {size(Math.min(read, file.size))} of {size(file.size)} read, {counted(sent, 'document')}{' '}
        sent
        {badCount === 0 ? '' : `, ${counted(badCount, 'row')} left out`}
        <progress max={file.size} value={Math.min(read, file.size)} />
      </label>
      <label>
        {percent(indexed)} indexed
        <progress max="1" value={indexed} />
      </label>
    </>
  );
}
