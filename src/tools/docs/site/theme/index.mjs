// VitePress's own theme, with a search box that runs on Gannet and forms that send requests.
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import { ApiRequest, ApiServer } from './requests.mjs';
import { SearchBox } from './search-box.mjs';
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet
import './style.css';

const theme = {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'nav-bar-content-before': () => h(SearchBox) }),
  enhanceApp({ app }) {
    app.component('ApiRequest', ApiRequest);
    app.component('ApiServer', ApiServer);
  },
};

// oxlint-disable-next-line import/no-default-export -- VitePress reads it
export default theme;
