import assert from 'node:assert/strict';
import { mergeNetwork, NO_NETWORK, PATCH_NETWORK } from '../../../src/contract/network.ts';
import type { NetworkPatch } from '../../../src/contract/network.ts';
import type { Network } from '../../../src/contract/responses.ts';
import { validator } from '../../../src/contract/validator.ts';

const body = validator(PATCH_NETWORK);

function codeOf(stored: Network, patch: unknown): string | undefined {
  const checked = body.validate(patch);
  if (!checked.ok) return checked.error.code;
  const merged = mergeNetwork(stored, checked.value);
  return merged.ok ? undefined : merged.error.code;
}

function merged(stored: Network, patch: NetworkPatch): Network {
  const outcome = mergeNetwork(stored, patch);
  assert.ok(outcome.ok);
  return outcome.value;
}

describe('A change of the network', () => {
  const url = 'http://localhost:7700';
  const stored = merged(NO_NETWORK, { self: 'a', remotes: { a: { url, searchApiKey: 'k' } } });

  it('merges remotes by name', () => {
    const two = merged(stored, { remotes: { b: { url }, a: { writeApiKey: 'w' } } });
    assert.deepEqual(two, {
      self: 'a',
      remotes: {
        a: { url, searchApiKey: 'k', writeApiKey: 'w' },
        b: { url, searchApiKey: null, writeApiKey: null },
      },
      sharding: false,
    });
    assert.deepEqual(merged(two, { remotes: { b: null, a: { searchApiKey: null } } }).remotes, {
      a: { url, searchApiKey: null, writeApiKey: 'w' },
    });
    assert.deepEqual(merged(two, { remotes: null, self: null, sharding: true }), {
      self: null,
      remotes: {},
      sharding: true,
    });
  });

  const cases: [unknown, string][] = [
    [{ remotes: { b: {} } }, 'missing_network_url'],
    [{ remotes: { b: { url: null } } }, 'missing_network_url'],
    [{ remotes: { a: { url: null } } }, 'invalid_network_url'],
    [{ remotes: { a: { url: 'nowhere' } } }, 'invalid_network_url'],
    [{ remotes: { b: { url: 7 } } }, 'invalid_network_url'],
    [{ remotes: { b: { url, searchApiKey: 7 } } }, 'invalid_network_search_api_key'],
    [{ remotes: { b: { url, writeApiKey: 7 } } }, 'invalid_network_write_api_key'],
    [{ remotes: { b: { url, other: 7 } } }, 'invalid_network_remotes'],
    [{ remotes: [] }, 'invalid_network_remotes'],
    [{ self: 7 }, 'invalid_network_self'],
    [{ sharding: 'yes' }, 'invalid_network_sharding'],
    [{ other: 7 }, 'bad_request'],
  ];
  for (const [patch, code] of cases) {
    it(`is refused with ${code}: ${JSON.stringify(patch)}`, () => {
      assert.equal(codeOf(stored, patch), code);
    });
  }

  it('takes what newer clients send without setting it as absent', () => {
    for (const shards of [null, {}, { a: null }, { a: { remotes: null, addRemotes: null } }]) {
      assert.equal(codeOf(stored, { leader: null, shards }), undefined, JSON.stringify(shards));
      assert.deepEqual(merged(stored, { leader: null, shards } as NetworkPatch), stored);
    }
    assert.equal(codeOf(stored, { leader: 'a' }), 'invalid_network_leader');
    for (const shards of [1, [], { a: 1 }, { a: { remotes: ['a'] } }]) {
      assert.equal(codeOf(stored, { shards }), 'invalid_network_shards', JSON.stringify(shards));
    }
  });
});
