// The configuration of VitePress, which reads it in build/docs/source/.vitepress.
import { readFileSync } from 'node:fs';
import { slug } from '../../../../src/tools/docs/pages.mjs';

const { version, ...sidebar } = JSON.parse(
  readFileSync(new URL('sidebar.json', import.meta.url), 'utf8'),
);

const config = {
  title: 'Gannet',
  description: 'A search server for JSON documents',
  lang: 'en',
  base: process.env.DOCS_BASE ?? '/',
  outDir: '../site',
  cacheDir: '../cache',
  markdown: {
    anchor: { slugify: slug },
    // Paths of routes have braces.
    attrs: { disable: true },
    // Templates have the braces of Vue.
    config: (md) => {
      for (const kind of ['code_inline', 'code_block']) {
        const render = md.renderer.rules[kind];
        md.renderer.rules[kind] = (...given) => render(...given).replace('<code', '<code v-pre');
      }
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/start' },
      { text: 'API', link: '/api/search' },
      { text: 'Internals', link: '/internals/architecture' },
      { text: version, link: '/CHANGELOG' },
    ],
    sidebar,
    outline: [2, 3],
  },
};

// oxlint-disable-next-line import/no-default-export -- VitePress reads it
export default config;
