// Bills of materials in the format CycloneDX: one for each file of a release, with every package
// and every native library in it.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ComponentType, HashAlgorithm } from '@cyclonedx/cyclonedx-library/Enums';
import {
  Bom,
  Component,
  LicenseRepository,
  Metadata,
  NamedLicense,
  Property,
  SpdxLicense,
} from '@cyclonedx/cyclonedx-library/Models';
import { JSON as Json, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize';
import { isSupportedSpdxId } from '@cyclonedx/cyclonedx-library/SPDX';
import { Spec1dot6 } from '@cyclonedx/cyclonedx-library/Spec';
import { nativeLibraries } from '../native-versions.mjs';
import { sha256 } from './artefacts.mjs';
import { NATIVE, SOCKET_LIBRARY } from './notices.mjs';

/** A part of an artefact: a package of npm, or something else with a name. */
function component(name, version, { licence, purl, sha512, from } = {}) {
  const part = new Component(ComponentType.Library, name, {
    version,
    purl: purl ?? `pkg:generic/${encodeURIComponent(name)}${version ? `@${version}` : ''}`,
  });
  part.bomRef.value = part.purl;
  if (licence !== undefined) part.licenses = new LicenseRepository([licenceOf(licence)]);
  if (sha512 !== undefined) part.hashes.set(HashAlgorithm['SHA-512'], sha512);
  // Which package's sources were compiled.
  if (from !== undefined) part.properties.add(new Property('gannet:sources', from));
  return part;
}

function licenceOf(text) {
  const id = text.replace(/ (?=[\d.]+$)/, '-');
  return isSupportedSpdxId(id) ? new SpdxLicense(id) : new NamedLicense(text);
}

const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** Components for folders of packages of npm, with their checksums from the lock file. */
export function packageComponents(folders) {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  return folders.map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    const integrity = /^sha512-(\S+)/.exec(packages[folder]?.integrity ?? '')?.[1];
    return component(name, version, {
      purl: purlOf(name, version),
      licence: typeof license === 'string' ? license : undefined,
      ...(integrity && { sha512: Buffer.from(integrity, 'base64').toString('hex') }),
    });
  });
}

/** The libraries compiled into the addon, and the packages that their sources come from. */
export function nativeComponents() {
  const libraries = nativeLibraries().map(({ name, version, folder }) => {
    const of = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const options = { from: purlOf(of.name, of.version) };
    if (typeof of.license === 'string' && of.name === name) options.licence = of.license;
    return component(name, version, options);
  });
  return [...packageComponents(NATIVE), ...libraries];
}

/** The socket library and what its binary contains, whose versions it does not tell. */
export function socketComponents(name, version) {
  const from = purlOf(name, version);
  return [
    component(name, version, { purl: from, licence: 'Apache-2.0' }),
    ...Object.keys(SOCKET_LIBRARY).map((inner) => component(inner, undefined, { from })),
  ];
}

/** @param versions `process.versions` of the Node in the artefact */
export function nodeComponents({ node, ...versions }) {
  return [
    component('node', node, { licence: 'MIT' }),
    ...Object.entries(versions)
      // Versions of interfaces and of data are no libraries.
      .filter(([name]) => !['modules', 'napi', 'cldr', 'tz', 'unicode'].includes(name))
      .map(([name, version]) => component(name, version, { from: `pkg:generic/node@${node}` })),
  ];
}

export const otherComponent = (name, version, licence) => component(name, version, { licence });

/**
 * The bill of a file, the same bytes for the same file.
 * @param parts components
 * @param moment seconds since 1970
 */
export function billOf(file, { version, moment, parts }) {
  const root = new Component(ComponentType.Application, basename(file), {
    version,
    bomRef: 'artefact',
    licenses: new LicenseRepository([new SpdxLicense('MIT')]),
  });
  const sum = sha256(file);
  root.hashes.set(HashAlgorithm['SHA-256'], sum);
  const bom = new Bom({
    metadata: new Metadata({ timestamp: new Date(moment * 1000), component: root }),
    serialNumber: serialOf(sum),
  });
  // The same library may be in Node and in the addon, or be named twice.
  const byRef = new Map(parts.map((part) => [refOf(part), part]));
  for (const [ref, part] of byRef) {
    part.bomRef.value = ref;
    bom.components.add(part);
    root.dependencies.add(part.bomRef);
  }
  const normalizer = new Json.Normalize.Factory(Spec1dot6);
  return `${new JsonSerializer(normalizer).serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function refOf(part) {
  const [sources] = [...part.properties].map(({ value }) => value);
  return sources === undefined ? part.purl : `${part.purl} in ${sources}`;
}

/** A UUID of version 8, which follows from the checksum of the file. */
function serialOf(sum) {
  const hash = createHash('sha256').update(`bill ${sum}`).digest('hex');
  const groups = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`];
  return `urn:uuid:${[...groups, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-')}`;
}
