import { TASK_SUMMARY } from '../../contract/answers.ts';
import { indexNotFound } from '../../contract/errors.ts';
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
import { json, longJson, route, type Reply, type RequestContext, type Route } from '../route.ts';

export function settingsRoutes({ services }: Dependencies): Route[] {
  const { indexes, tasks, features } = services;

  function stored(uid: string): SettingsObject {
    const settings = indexes.settings(uid);
    if (settings === undefined) throw indexNotFound(uid);
    return settings;
  }

  async function update({
    access,
    params,
    body,
  }: RequestContext<unknown, SettingsChange>): Promise<Reply> {
    const fault = checkPartialSettings(body.settings, features.get());
    if (fault !== null) throw fault;
    const uid = params.index_uid!;
    return json(
      202,
      await tasks.register({
        type: 'settingsUpdate',
        indexUid: uid,
        ...body,
        isReset: false,
        allowIndexCreation: access.mayCreate(uid),
      }),
    );
  }

  async function reset(uid: string, settings: PartialSettings): Promise<Reply> {
    return json(
      202,
      await tasks.register({
        type: 'settingsUpdate',
        indexUid: uid,
        settings,
        isReset: true,
        allowIndexCreation: false,
      }),
    );
  }

  const whole: Route[] = [
    route({
      method: 'GET',
      path: '/indexes/:index_uid/settings',
      action: 'settings.get',
      summary: 'Shows all settings of an index.',
      success: 200,
      answer: SETTINGS_SCHEMA,
      handle: ({ params }) => longJson(renderSettings(stored(params.index_uid!), features.get())),
    }),
    route<unknown, SettingsChange>({
      method: 'PATCH',
      path: '/indexes/:index_uid/settings',
      action: 'settings.update',
      summary: 'Changes some settings of an index; null resets one.',
      body: {
        schema: SETTINGS_SCHEMA,
        kind: 'settings',
        settings: 'all',
        convert: (value) => ({ settings: wholeSettings(value), stored: {} }),
      },
      success: 202,
      answer: TASK_SUMMARY,
      handle: update,
    }),
    route({
      method: 'DELETE',
      path: '/indexes/:index_uid/settings',
      action: 'settings.update',
      summary: 'Resets all settings of an index.',
      success: 202,
      answer: TASK_SUMMARY,
      handle: ({ params }) => reset(params.index_uid!, resetAllSettings(features.get())),
    }),
  ];

  const children = SETTING_ENTRIES.flatMap((setting): Route[] => {
    const { name } = setting;
    const path = `/indexes/:index_uid/settings/${segmentOf(setting)}`;
    return [
      route({
        method: 'GET',
        path,
        action: 'settings.get',
        summary: `Shows the setting ${name}.`,
        success: 200,
        answer: setting.schema,
        handle: ({ params }) => longJson(renderSetting(stored(params.index_uid!), name)),
      }),
      ...setting.methods.map((method) =>
        route<unknown, SettingsChange>({
          method,
          path,
          action: 'settings.update',
          summary: `Changes the setting ${name}; null resets it.`,
          body: {
            schema: childSchema(setting),
            kind: 'settings',
            settings: name,
            convert: (value) => ({ settings: childSetting(name, value), stored: {} }),
          },
          success: 202,
          answer: TASK_SUMMARY,
          handle: update,
        }),
      ),
      route({
        method: 'DELETE',
        path,
        action: 'settings.update',
        summary: `Resets the setting ${name}.`,
        success: 202,
        answer: TASK_SUMMARY,
        handle: ({ params }) => reset(params.index_uid!, resetSetting(name)),
      }),
    ];
  });

  return [...whole, ...children];
}
