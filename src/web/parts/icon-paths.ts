/** Drawn in a square of 24, with lines of the colour of the text. */
export const ICON_PATHS = {
  alert:
    'M12 9v4m0 4h.01M10.3 3.9 2.4 17.5A2 2 0 0 0 4.1 20.5h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z',
  bell: 'M6 9a6 6 0 0 1 12 0c0 6 2.5 7.5 2.5 7.5h-17S6 15 6 9Zm4 11a2.2 2.2 0 0 0 4 0',
  chart: 'M4 4v16h16M8 16v-4m4 4V8m4 8v-6',
  chat: 'M20 11.5a7.5 7.5 0 0 1-11 6.6L4 19.5l1.4-4.6a7.5 7.5 0 1 1 14.6-3.4Z',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6 6 18',
  code: 'm8 7-5 5 5 5m8-10 5 5-5 5',
  columns: 'M4 5h16v14H4zM12 5v14',
  compare: 'M4 5h6v14H4zM14 5h6v14h-6z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  documents: 'M7 3h7l4 4v10H7zM14 3v4h4M4 8v13h10',
  down: 'M12 5v14m6-6-6 6-6-6',
  download: 'M12 4v11m5-5-5 5-5-5M4 19h16',
  edit: 'm14.5 5.5 4 4L8 20H4v-4L14.5 5.5Z',
  filter: 'M4 5h16l-6 7.5V19l-4-2v-4.5L4 5Z',
  gauge: 'M4 17a9 9 0 1 1 16 0M12 14l4-5',
  grip: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  indexes:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3Zm0 0v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  key: 'M8 11.5a4 4 0 1 0 0 8 4 4 0 1 0 0-8ZM11 12.7 20 4m-4 3.8 3 3m-5.5-.6 2 2',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2',
  list: 'M4 5h16v6H4zM4 14h16v5H4z',
  logs: 'M5 5h14M5 10h9M5 15h14M5 20h6',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5Z',
  network:
    'M12 4.500a2 2 0 1 0 0 .01M5 17.500a2 2 0 1 0 0 .01M19 17.500a2 2 0 1 0 0 .01M11 6.500l-5 9M13 6.500l5 9M7.5 18h9',
  plus: 'M12 5v14M5 12h14',
  rows: 'M4 6h16M4 12h16M4 18h16',
  rules: 'M12 21v-7M7 14h10l-2-4V5h1V3H8v2h1v5l-2 4Z',
  search: 'M17 11a6 6 0 1 1-12 0 6 6 0 0 1 12 0Zm-1.7 4.300L20 20',
  server: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.500h.01M8 16.500h.01',
  settings:
    'M4 7h9m4 0h3M4 17h3m4 0h9M15 4.500a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5ZM9 14.500a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5Z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 1 0 0-8ZM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.400m11.2 11.200L19 19M19 5l-1.4 1.400M6.4 17.6 5 19',
  table: 'M4 5h16v14H4zM4 10h16M4 14.500h16M10 10v9',
  tasks: 'M11 6h9M11 12h9M11 18h9M4 6l1.5 1.500L8 5M4 12l1.5 1.500L8 11M4 18l1.5 1.500L8 17',
  trash: 'M4 7h16M9 7V4h6v3m3 0-1 13H7L6 7m4 4v5m4-5v5',
  undo: 'M8 5 4 9l4 4M4 9h10a5 5 0 0 1 0 10H9',
  up: 'M12 19V5m6 6-6-6-6 6',
  upload: 'M12 15V4m5 5-5-5-5 5M4 19h16',
} as const;

export type IconName = keyof typeof ICON_PATHS;
