import { useState } from 'preact/hooks';
import { isAddress, storedFields } from '../../hit-fields.ts';
import { CheckList } from '../../parts/check-list.tsx';
import { Choice } from '../../parts/choice.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import type { IconName } from '../../parts/icon-paths.ts';
import { Icon } from '../../parts/icon.tsx';
import type { Hit, SearchState } from '../../search-request.ts';
import { LAYOUTS, mayLoadImages, reopen, type Display, type Layout } from './display.ts';
import { RequestDialog } from './request-dialog.tsx';
import { TimelineDialog } from './timeline-dialog.tsx';

interface Props {
  uid: string;
  state: SearchState;
  hits: readonly Hit[];
  display: Display;
  onDisplay(part: Partial<Display>): void;
  comparing: boolean;
  onCompare(): void;
  /** Whether the filter is shown. */
  filtering: boolean;
  onFilter(): void;
}

const ICONS: Readonly<Record<Layout, IconName>> = {
  comfortable: 'list',
  compact: 'rows',
  table: 'table',
};

/** How the results are shown, and what else can be done with the search. */
export function Toolbar(props: Props): JSX.Element {
  const { uid, state, hits, display, onDisplay, comparing, onCompare, filtering, onFilter } = props;
  const [open, setOpen] = useState<'fields' | 'request' | 'time' | null>(null);
  return (
    <div class="buttons">
      <div class="segments" role="group" aria-label="Layout">
        {LAYOUTS.map((layout) => (
          <button
            key={layout}
            type="button"
            aria-pressed={display.layout === layout}
            aria-label={`Show results ${layout === 'table' ? 'as a table' : layout}`}
            title={layout}
            onClick={() => onDisplay({ layout })}
          >
            <Icon name={ICONS[layout]} />
          </button>
        ))}
      </div>
      <button type="button" class="quiet" aria-pressed={filtering} onClick={onFilter}>
        <Icon name="filter" /> Filter
      </button>
      <button type="button" class="quiet" onClick={() => setOpen('fields')}>
        <Icon name="columns" /> Fields
      </button>
      <button type="button" class="quiet" onClick={() => setOpen('request')}>
        <Icon name="code" /> Request
      </button>
      <button type="button" class="quiet" onClick={() => setOpen('time')}>
        <Icon name="gauge" /> Timeline
      </button>
      <button type="button" class="quiet" aria-pressed={comparing} onClick={onCompare}>
        <Icon name="compare" /> Compare
      </button>
      {open === 'fields' ? (
        <FieldsDialog
          hits={hits}
          display={display}
          onDisplay={onDisplay}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open === 'request' ? (
        <RequestDialog uid={uid} state={state} onClose={() => setOpen(null)} />
      ) : null}
      {open === 'time' ? (
        <TimelineDialog uid={uid} state={state} onClose={() => setOpen(null)} />
      ) : null}
    </div>
  );
}

interface FieldsProps {
  hits: readonly Hit[];
  display: Display;
  onDisplay(part: Partial<Display>): void;
  onClose(): void;
}

function FieldsDialog({ hits, display, onDisplay, onClose }: FieldsProps): JSX.Element {
  const names = [...new Set([...(display.fields ?? []), ...hits.flatMap(storedFields)])];
  const images = names.filter((name) => hits.some((hit) => isAddress(hit[name])));
  return (
    <Dialog title="Shown fields" onClose={onClose}>
      <p class="note">The choice is kept in this browser, for this index.</p>
      <fieldset class="facet">
        <legend>Fields</legend>
        <CheckList
          values={names}
          chosen={display.fields ?? names}
          onChoose={(fields) => onDisplay({ fields })}
          text={(name) => <span>{name}</span>}
        />
      </fieldset>
      {images.length === 0 && display.image === '' ? null : (
        <Choice
          label="Image"
          hint="Images are loaded from the servers in the documents, which see the address of your browser. The page opens again with or without this permission."
          value={display.image}
          options={[['', 'none'], ...images.map((name) => [name, name] as const)]}
          onChoose={(image) => {
            onDisplay({ image });
            if ((image !== '') !== mayLoadImages()) reopen(image !== '');
          }}
        />
      )}
      <p class="buttons">
        <button type="button" onClick={onClose}>
          Done
        </button>
        <button type="button" class="quiet" onClick={() => onDisplay({ fields: null })}>
          Choose for me
        </button>
      </p>
    </Dialog>
  );
}
