import type { RawJson } from '../base/json.ts';
import { declared } from './declare.ts';

/** Messages in one request. */
const MESSAGES_MAX = 20;

/** A message of JSON-RPC 2.0, or several; the protocol's own library checks them. */
export const MCP_BODY = declared<RawJson>({
  'x-lossless': true,
  oneOf: [
    { type: 'object', additionalProperties: true },
    {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      minItems: 1,
      maxItems: MESSAGES_MAX,
    },
  ],
});
