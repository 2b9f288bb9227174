/** Requests to the target server of an export. */
import { ApiError, exportToItself } from '../contract/errors.ts';
import {
  ApiPeer,
  jsonBody,
  type PeerBody,
  type PeerOptions,
  type PeerRequest,
  RefusedRequest,
} from '../outbound/api-peer.ts';
import { OutboundError } from '../outbound/outbound-error.ts';

/** Maximum time for retries, from the first attempt of a request. */
const RETRIES_MS_MAX = 15 * 60_000;

export class ExportTarget {
  readonly #peer: ApiPeer;

  /**
   * @param processMark sent with every request, so that a server recognizes an export to itself,
   * whatever the address
   */
  constructor(options: Omit<PeerOptions, 'retriesMsMax' | 'headers'>, processMark: string) {
    const headers = { 'x-gannet-exported-by': processMark };
    this.#peer = new ApiPeer({ ...options, headers, retriesMsMax: RETRIES_MS_MAX });
  }

  /** Whether the target has the index. */
  async hasIndex(uid: string): Promise<boolean> {
    try {
      await this.#peer.send({ method: 'GET', path: `/indexes/${uid}` });
      return true;
    } catch (error) {
      if (error instanceof RefusedRequest && error.body.code === 'index_not_found') return false;
      throw taskError(error, this.#peer.address);
    }
  }

  /**
   * Points an alias at an index, unless the target has no aliases or the key may not change them.
   */
  async putAlias(alias: string, indexUid: string): Promise<void> {
    try {
      const body = jsonBody({ indexUid });
      await this.#peer.send({ method: 'PUT', path: `/aliases/${alias}`, body });
    } catch (error) {
      if (error instanceof RefusedRequest && [403, 404, 405].includes(error.status)) return;
      throw taskError(error, this.#peer.address);
    }
  }

  /**
   * Throws `ApiError` if the target has not accepted the request after all attempts.
   * @param secrets the parts of the value that can contain credentials
   */
  async sendJson(
    method: PeerRequest['method'],
    path: string,
    value: unknown,
    secrets?: unknown,
  ): Promise<void> {
    await this.send(method, path, { ...jsonBody(value), secrets });
  }

  /** Like `sendJson`, for any body. */
  async send(method: PeerRequest['method'], path: string, body: PeerBody): Promise<void> {
    try {
      await this.#peer.send({ method, path, body });
    } catch (error) {
      throw taskError(error, this.#peer.address);
    }
  }
}

/** The error that the task reports. */
function taskError(error: unknown, address: string): unknown {
  if (error instanceof RefusedRequest) {
    const { code, type, message, link } = error.body;
    if (code === 'invalid_export_url') return exportToItself();
    const texts = Object.entries({ code, type, message, link })
      .filter(([, value]) => typeof value === 'string')
      .map(([name, value]) => `${name} \`${String(value).slice(0, 1000)}\``);
    return new ApiError(
      'internal',
      `The target of the export, ${address}, has answered with status ${error.status}` +
        `${texts.length === 0 ? '' : `: ${texts.join(', ')}`}.`,
    );
  }
  if (!(error instanceof OutboundError)) return error;
  return new ApiError('internal', `The target of the export cannot be reached: ${error.message}.`);
}
