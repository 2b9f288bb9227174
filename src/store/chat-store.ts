import type { ChatWorkspace } from '../contract/chats.ts';
import { Records } from './records.ts';
import type { Store } from './store.ts';

/** The chat workspaces, with their keys in plain text. */
export class ChatStore {
  readonly #records: Records<ChatWorkspace>;

  constructor(store: Store) {
    this.#records = new Records(store, 'chats');
  }

  get size(): number {
    return this.#records.size;
  }

  /** In ascending order of uid. */
  list(): ChatWorkspace[] {
    return [...this.#records.values()].sort((a, b) => (a.uid < b.uid ? -1 : 1));
  }

  get(uid: string): ChatWorkspace | undefined {
    return this.#records.get(uid);
  }

  put(workspace: ChatWorkspace): Promise<void> {
    return this.#records.put(workspace.uid, workspace);
  }

  remove(uid: string): Promise<void> {
    return this.#records.remove(uid);
  }
}
