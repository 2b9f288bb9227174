import assert from 'node:assert/strict';
import { AddressPolicy, parseNetwork } from '../../../src/outbound/address-policy.ts';

describe('The address policy', () => {
  const open = new AddressPolicy({ denyPrivate: false, allow: [] });
  const closed = new AddressPolicy({ denyPrivate: true, allow: [] });

  const NEVER = [
    '169.254.169.254',
    '169.254.0.1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '::169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '100.100.100.200',
    'fd00:ec2::254',
    'fd20:ce::254',
    'localhost',
    '',
  ];
  const PRIVATE = [
    '127.0.0.1',
    '127.255.255.255',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '0.0.0.0',
    '198.18.0.1',
    '192.0.2.1',
    '203.0.113.9',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fd12::1',
    'ff02::1',
    '2001:db8::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ];
  const PUBLIC = [
    '8.8.8.8',
    '172.32.0.1',
    '11.0.0.1',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '2002:808:808::1',
  ];

  it('never allows link-local and metadata addresses, in any form', () => {
    const any = new AddressPolicy({ denyPrivate: true, allow: ['any'] });
    const named = new AddressPolicy({ denyPrivate: true, allow: ['0.0.0.0/0', '::/0'] });
    for (const address of NEVER) {
      for (const policy of [open, closed, any, named]) {
        assert.equal(policy.allows(address), false, address);
      }
    }
  });

  it('allows private addresses unless they are denied', () => {
    for (const address of PRIVATE) {
      assert.equal(open.allows(address), true, address);
      assert.equal(closed.allows(address), false, address);
    }
  });

  it('allows public addresses always', () => {
    for (const address of PUBLIC) {
      assert.equal(open.allows(address), true, address);
      assert.equal(closed.allows(address), true, address);
    }
  });

  it('allows listed addresses although private ones are denied', () => {
    const policy = new AddressPolicy({
      denyPrivate: true,
      allow: ['10.0.0.0/8', '::1', 'fd12::/16'],
    });
    for (const address of ['10.1.2.3', '::1', 'fd12::7'])
      assert.equal(policy.allows(address), true);
    for (const address of ['127.0.0.1', '192.168.0.1', 'fd13::7']) {
      assert.equal(policy.allows(address), false);
    }
    const any = new AddressPolicy({ denyPrivate: true, allow: ['any'] });
    assert.equal(any.allows('127.0.0.1'), true);
  });

  it('reports an invalid network', () => {
    for (const text of [
      '10.0.0.0/33',
      'x',
      '10.0.0/8',
      '::1/129',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      'fe80::1%eth0',
    ]) {
      assert.equal(parseNetwork(text).ok, false, text);
      assert.throws(() => new AddressPolicy({ denyPrivate: true, allow: [text] }));
    }
    assert.deepEqual(parseNetwork('::1'), {
      ok: true,
      value: { address: '::1', family: 'ipv6', prefix: 128 },
    });
  });
});
