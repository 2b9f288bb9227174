// Builds a Debian package from an assembled release: its files below /usr/lib/gannet, a systemd
// unit, a user and a configuration.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { GLIBC } from './portable.mjs';

const MAINTAINER = 'Gannet developers <gannet@localhost.localdomain>';

const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  if ! getent passwd gannet >/dev/null; then
    adduser --system --quiet --group --home /var/lib/gannet --no-create-home --gecos "Gannet" gannet
  fi
  if [ ! -d /var/lib/gannet ]; then
    install -d -o gannet -g gannet -m 0700 /var/lib/gannet
  fi
  if [ ! -e /etc/gannet/environment ]; then
    key=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \\n')
    (umask 077 && echo "GANNET_MASTER_KEY=$key" > /etc/gannet/environment)
  fi
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    deb-systemd-helper enable gannet.service >/dev/null || true
    deb-systemd-invoke restart gannet.service || true
  elif command -v deb-systemd-helper >/dev/null; then
    deb-systemd-helper enable gannet.service >/dev/null || true
  fi
fi
`;
const PRERM = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop gannet.service || true
fi
`;
/**
 * Keeps the data, because only a person may delete an index, and then the key, without which the
 * keys derived from it are lost.
 */
const POSTRM = `#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
  if command -v deb-systemd-helper >/dev/null; then
    deb-systemd-helper purge gannet.service >/dev/null || true
  fi
  if [ -z "$(ls -A /var/lib/gannet 2>/dev/null)" ]; then
    rm -f /etc/gannet/environment
    rm -rf /var/lib/gannet
  fi
  rmdir --ignore-fail-on-non-empty /etc/gannet 2>/dev/null || true
fi
`;

/** Overrides for lintian checks that do not apply to a package with its own runtime. */
const OVERRIDES = [
  // Node and the addons are prebuilt with embedded libraries.
  'gannet: embedded-library *',
  'gannet: hardening-no-pie *',
  'gannet: statically-linked-binary *',
  // The package is not part of the Debian archive.
  'gannet: no-manual-page *',
  'gannet: initial-upload-closes-no-bugs *',
  'gannet: bogus-mail-host *',
  'gannet: bogus-mail-host-in-debian-changelog *',
];

/**
 * @param root the assembled release.
 * @param out folder for the package.
 * @param moment seconds since 1970.
 * @returns the file
 */
export function debianPackage(root, out, { version: released, moment }) {
  // In Debian's order a version with `~` comes before the one without.
  const version = released.replace('-', '~');
  const tree = join(out, 'debian');
  rmSync(tree, { recursive: true, force: true });
  const lib = join(tree, 'usr/lib/gannet');
  const doc = join(tree, 'usr/share/doc/gannet');
  const folders = ['DEBIAN', 'usr/bin', 'usr/lib', 'etc/gannet', 'lib/systemd/system'];
  for (const folder of [...folders, 'usr/share/lintian/overrides']) {
    mkdirSync(join(tree, folder), { recursive: true });
  }
  cpSync(root, lib, { recursive: true });
  // Debian provides this library.
  rmSync(join(lib, 'lib/runtime'), { recursive: true });
  mkdirSync(join(tree, 'usr/share/doc'), { recursive: true });
  renameSync(join(lib, 'share/doc'), doc);
  rmSync(join(lib, 'share'), { recursive: true });
  renameSync(join(doc, 'LICENSE'), join(doc, 'copyright'));
  const changes = `gannet (${version}) stable; urgency=medium\n\n  * Release ${version}.\n\n -- ${MAINTAINER}  ${new Date(moment * 1000).toUTCString().replace('GMT', '+0000')}\n`;
  writeFileSync(join(doc, 'changelog.gz'), gzipSync(changes, { level: 9 }));
  symlinkSync('../lib/gannet/bin/gannet', join(tree, 'usr/bin/gannet'));
  cpSync('docs/deploy/gannet.service', join(tree, 'lib/systemd/system/gannet.service'));
  cpSync('docs/deploy/config.toml', join(tree, 'etc/gannet/config.toml'));
  writeFileSync(join(tree, 'usr/share/lintian/overrides/gannet'), `${OVERRIDES.join('\n')}\n`);
  for (const [shell, path] of [
    ['bash', 'usr/share/bash-completion/completions/gannet'],
    ['zsh', 'usr/share/zsh/vendor-completions/_gannet'],
    ['fish', 'usr/share/fish/vendor_completions.d/gannet.fish'],
  ]) {
    mkdirSync(join(tree, path, '..'), { recursive: true });
    writeFileSync(
      join(tree, path),
      execFileSync(resolve(root, 'bin/gannet'), ['completion', shell]),
    );
  }
  for (const [name, text] of Object.entries({ postinst: POSTINST, prerm: PRERM, postrm: POSTRM })) {
    writeFileSync(join(tree, 'DEBIAN', name), text);
    chmodSync(join(tree, 'DEBIAN', name), 0o755);
  }
  writeFileSync(join(tree, 'DEBIAN/conffiles'), '/etc/gannet/config.toml\n');
  execFileSync('find', [tree, '-exec', 'touch', '-h', '-d', `@${moment}`, '{}', '+']);
  const files = filesBelow(tree, tree).filter((file) => !file.startsWith('DEBIAN/'));
  const kibibytes = files.reduce(
    (sum, file) => sum + Math.ceil(statSync(join(tree, file)).size / 1024),
    0,
  );
  writeFileSync(
    join(tree, 'DEBIAN/control'),
    [
      'Package: gannet',
      `Version: ${version}`,
      'Section: database',
      'Priority: optional',
      'Architecture: amd64',
      `Maintainer: ${MAINTAINER}`,
      `Installed-Size: ${kibibytes}`,
      `Depends: libc6 (>= ${GLIBC}), libstdc++6 (>= 5), libgcc-s1, adduser, init-system-helpers (>= 1.54~)`,
      'Description: document-search server',
      ' Searches JSON documents while people type: forgives typing errors, ranks,',
      ' filters, sorts and counts facets. It speaks the HTTP API of Meilisearch, so',
      ' existing clients work unchanged. Node.js is part of the package.',
      '',
    ].join('\n'),
  );
  const sums = files.map((file) => {
    const sum = createHash('md5')
      .update(readFileSync(join(tree, file)))
      .digest('hex');
    return `${sum}  ${file}\n`;
  });
  writeFileSync(join(tree, 'DEBIAN/md5sums'), sums.join(''));
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree]);
  const file = join(out, `gannet_${released}_amd64.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z6', '--build', tree, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(moment) },
  });
  return file;
}

function filesBelow(folder, base) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(base.length + 1))
    .sort();
}
