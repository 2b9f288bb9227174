import { percentDecode } from '../contract/query.ts';

interface Node<T> {
  readonly fixed: Map<string, Node<T>>;
  parameter: { name: string; node: Node<T> } | null;
  readonly methods: Map<string, T>;
}

export type Match<T> =
  | {
      readonly kind: 'found';
      readonly target: T;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'wrongMethod'; readonly allow: string }
  | { readonly kind: 'unknown' };

const UNKNOWN = { kind: 'unknown' } as const;

/**
 * Maps paths to targets. A path is a list of segments; empty ones are ignored, so trailing and
 * repeated slashes mean nothing. A fixed segment is preferred to a parameter and is final: if the
 * rest does not match below it, the parameter is not tried.
 */
export class Router<T> {
  readonly #root: Node<T> = newNode();

  /** `pattern`: `/indexes/:index_uid/search`. */
  add(method: string, pattern: string, target: T): void {
    let node = this.#root;
    for (const segment of segmentsOf(pattern)) {
      if (segment.startsWith(':')) {
        node.parameter ??= { name: segment.slice(1), node: newNode() };
        node = node.parameter.node;
      } else {
        let next = node.fixed.get(segment);
        if (next === undefined) {
          next = newNode();
          node.fixed.set(segment, next);
        }
        node = next;
      }
    }
    node.methods.set(method, target);
  }

  /**
   * `path` is still percent-encoded; segments are decoded after splitting. HEAD matches the routes
   * of GET.
   */
  match(method: string, path: string): Match<T> {
    let node = this.#root;
    const params: Record<string, string> = {};
    for (const raw of segmentsOf(path)) {
      const segment = percentDecode(raw);
      const fixed = node.fixed.get(segment);
      if (fixed !== undefined) node = fixed;
      else if (node.parameter !== null) {
        params[node.parameter.name] = segment;
        node = node.parameter.node;
      } else return UNKNOWN;
    }
    const target = node.methods.get(method === 'HEAD' ? 'GET' : method);
    if (target !== undefined) return { kind: 'found', target, params };
    if (node.methods.size === 0) return UNKNOWN;
    return { kind: 'wrongMethod', allow: allowed([...node.methods.keys()]) };
  }
}

function allowed(methods: readonly string[]): string {
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}

function newNode<T>(): Node<T> {
  return { fixed: new Map(), parameter: null, methods: new Map() };
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
