import { TASK_SUMMARY } from '../../contract/responses.ts';
import { indexNotFound, toApiError } from '../../contract/errors.ts';
import {
  checkPartialSettings,
  childSchema,
  childSetting,
  wholeSettings,
  renderSetting,
  renderSettings,
  resetAllSettings,
  resetSetting,
  SETTING_ENTRIES,
  SETTINGS_SCHEMA,
  type PartialSettings,
  type SettingsChange,
  type SettingsObject,
} from '../../contract/settings.ts';
import { segmentOf } from '../../contract/settings/setting.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  longJson,
  registered,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

export const SETTINGS_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/indexes/:index_uid/settings',
    action: 'settings.get',
    summary: 'Shows all settings of an index.',
    success: 200,
    response: SETTINGS_SCHEMA,
    handle: showSettings,
  }),
  route({
    method: 'PATCH',
    path: '/indexes/:index_uid/settings',
    action: 'settings.update',
    summary: 'Changes some settings of an index; null resets one.',
    body: {
      schema: SETTINGS_SCHEMA,
      kind: 'settings',
      settings: 'all',
      convert: (value): SettingsChange => ({ settings: wholeSettings(value), stored: {} }),
    },
    success: 202,
    response: TASK_SUMMARY,
    handle: changeSettings,
  }),
  route({
    method: 'DELETE',
    path: '/indexes/:index_uid/settings',
    action: 'settings.update',
    summary: 'Resets all settings of an index.',
    success: 202,
    response: TASK_SUMMARY,
    handle: resetSettings,
  }),
  ...SETTING_ENTRIES.flatMap(routesOf),
];

/** The routes of one setting. */
function routesOf(setting: (typeof SETTING_ENTRIES)[number]): Route[] {
  const { name } = setting;
  const path = `/indexes/:index_uid/settings/${segmentOf(setting)}`;
  return [
    route({
      method: 'GET',
      path,
      action: 'settings.get',
      summary: `Shows the setting ${name}.`,
      success: 200,
      response: setting.schema,
      handle: ({ params }, server) =>
        longJson(renderSetting(stored(params.index_uid!, server), name)),
    }),
    ...setting.methods.map((method) =>
      route({
        method,
        path,
        action: 'settings.update',
        summary: `Changes the setting ${name}; null resets it.`,
        body: {
          schema: childSchema(setting),
          kind: 'settings',
          settings: name,
          convert: (value): SettingsChange => ({ settings: childSetting(name, value), stored: {} }),
        },
        success: 202,
        response: TASK_SUMMARY,
        handle: changeSettings,
      }),
    ),
    route({
      method: 'DELETE',
      path,
      action: 'settings.update',
      summary: `Resets the setting ${name}.`,
      success: 202,
      response: TASK_SUMMARY,
      handle: ({ params }, server) => reset(params.index_uid!, resetSetting(name), server),
    }),
  ];
}

function showSettings(
  { params }: RequestContext,
  server: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  const settings = stored(params.index_uid!, server);
  return longJson(renderSettings(settings, server.services.features.get()));
}

async function changeSettings(
  { access, params, body }: RequestContext<unknown, SettingsChange>,
  server: Dependencies,
): Promise<RouteResponse> {
  const fault = checkPartialSettings(body.settings, server.services.features.get());
  if (fault !== null) throw fault;
  try {
    const rules = (body.settings.rankingRules ?? []) as readonly string[];
    for (const rule of rules) server.checkRankingRule(rule);
  } catch (thrown) {
    throw toApiError(thrown);
  }
  const uid = params.index_uid!;
  return registered(server, {
    type: 'settingsUpdate',
    indexUid: uid,
    ...body,
    isReset: false,
    allowIndexCreation: access.mayCreate(uid),
  });
}

function resetSettings({ params }: RequestContext, server: Dependencies): Promise<RouteResponse> {
  return reset(params.index_uid!, resetAllSettings(server.services.features.get()), server);
}

function reset(
  uid: string,
  settings: PartialSettings,
  server: Dependencies,
): Promise<RouteResponse> {
  return registered(server, {
    type: 'settingsUpdate',
    indexUid: uid,
    settings,
    isReset: true,
    allowIndexCreation: false,
  });
}

function stored(uid: string, { services }: Dependencies): SettingsObject {
  const settings = services.indexes.settings(uid);
  if (settings === undefined) throw indexNotFound(uid);
  return settings;
}
