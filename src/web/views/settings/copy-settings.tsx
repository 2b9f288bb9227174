import { OtherIndex } from '../../parts/other-index.tsx';
import { useIndexes } from '../../shell/indexes-context.tsx';

interface Props {
  uid: string;
  onCopy(to: string): void;
  onClose(): void;
}

export function CopySettings({ uid, onCopy, onClose }: Props): JSX.Element {
  return (
    <OtherIndex
      title={`Copy the settings of ${uid}`}
      uid={uid}
      uids={useIndexes().list.map((one) => one.uid)}
      label="To"
      button="Copy"
      onChoose={onCopy}
      onClose={onClose}
    >
      All saved settings of {uid} replace those of the other index. Its documents are indexed again.
      Embedders are not copied, because their keys are not shown.
    </OtherIndex>
  );
}
