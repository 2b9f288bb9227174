// What turns files into a release: reproducible archives, a list of checksums, and a signature.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { run } from './run.mjs';

/**
 * The modification time of all files in seconds since 1970: that of the commit, so that builds are
 * reproducible.
 */
export function momentOf() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH);
  try {
    return Number(run('git', ['show', '-s', '--format=%ct', 'HEAD'], { stdio: 'pipe' }));
  } catch {
    return Math.floor(Date.now() / 1000);
  }
}

/** Packs a folder under its own name, with nothing that depends on the machine. */
export function packFolder(folder, archive, moment) {
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  const fixed = ['--format=gnu', '--sort=name', '--mode=u=rwX,go=rX', `--mtime=@${moment}`];
  run('tar', [
    '-C',
    dirname(folder),
    ...owner,
    ...fixed,
    '-I',
    'gzip -n -6',
    '-cf',
    archive,
    basename(folder),
  ]);
  return archive;
}

/** A Helm package is an archive of the chart's folder. */
export function chartPackage(out, { version, moment }) {
  return packFolder('docs/deploy/helm/gannet', join(out, `gannet-chart-${version}.tgz`), moment);
}

export const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Writes SHA256SUMS for files of a folder, in the form that `sha256sum --check` reads. */
export function writeSums(folder, files) {
  const lines = files.map((file) => `${sha256(file)}  ${basename(file)}\n`);
  const sums = join(folder, 'SHA256SUMS');
  writeFileSync(sums, lines.sort((a, b) => (a.slice(64) < b.slice(64) ? -1 : 1)).join(''));
  return sums;
}

/**
 * Signs a file with the program that the key is for. The program may ask for the key's password.
 * @returns the file with the signature
 */
export function sign(file, key) {
  const asks = { stdio: ['inherit', 'ignore', 'inherit'] };
  if (readFileSync(key, 'utf8').startsWith('-----BEGIN')) {
    const bundle = `${file}.sigstore.json`;
    run('cosign', ['sign-blob', '--yes', '--key', key, '--bundle', bundle, file], asks);
    return bundle;
  }
  run('minisign', ['-S', '-s', key, '-m', file, '-x', `${file}.minisig`], asks);
  return `${file}.minisig`;
}
