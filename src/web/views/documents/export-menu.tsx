import { download } from '../../download.ts';
import { exportDocuments, type ExportFormat } from '../../export-documents.ts';
import { counted } from '../../format.ts';
import type { Action } from '../../hooks.ts';
import { notify } from '../../notices.ts';
import { Menu } from '../../parts/menu.tsx';
import { useSession } from '../../session.ts';

interface Props {
  uid: string;
  filter: string;
  action: Action;
}

/** Downloads the documents that the filter finds. */
export function ExportMenu({ uid, filter, action }: Props): JSX.Element {
  const { client } = useSession();
  const start = (format: ExportFormat): void =>
    action.run(async () => {
      const { signal } = new AbortController();
      const tell = (read: number): void =>
        notify({ kind: 'working', text: `${counted(read, 'document')} read …` });
      const file = await exportDocuments({ client, uid, filter, signal }, format, tell);
      download(file, `${uid}.${format}`);
      return 'The file is complete.';
    });
  return (
    <Menu title="Export">
      <div class="choices">
        <button
          type="button"
          class="quiet"
          disabled={action.running}
          onClick={() => start('ndjson')}
        >
          NDJSON, exactly as stored
        </button>
        <button type="button" class="quiet" disabled={action.running} onClick={() => start('csv')}>
          CSV, for spreadsheets
        </button>
      </div>
    </Menu>
  );
}
