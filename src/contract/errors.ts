import { err, type Result } from '../base/result.ts';

/**
 * The only catalogue of error codes: the possible values of `code`, each with its type and HTTP
 * status. Codes that are no longer sent stay listed and never change their meaning.
 */

export type ErrorType = 'invalid_request' | 'internal' | 'auth' | 'system';

interface CodeEntry {
  readonly status: number;
  readonly type: ErrorType;
}

const INVALID_REQUEST: CodeEntry = { status: 400, type: 'invalid_request' };

const SPECIAL = {
  alias_not_found: { status: 404, type: 'invalid_request' },
  api_key_already_exists: { status: 409, type: 'invalid_request' },
  api_key_not_found: { status: 404, type: 'invalid_request' },
  batch_not_found: { status: 404, type: 'invalid_request' },
  branch_not_found: { status: 404, type: 'invalid_request' },
  chat_not_found: { status: 404, type: 'invalid_request' },
  cluster_unavailable: { status: 503, type: 'system' },
  database_size_limit_reached: { status: 500, type: 'internal' },
  document_not_found: { status: 404, type: 'invalid_request' },
  dump_already_processing: { status: 409, type: 'invalid_request' },
  dump_not_found: { status: 404, type: 'invalid_request' },
  dump_process_failed: { status: 500, type: 'internal' },
  dynamic_search_rule_not_found: { status: 404, type: 'invalid_request' },
  embedder_not_found: { status: 404, type: 'invalid_request' },
  import_task_already_received: { status: 412, type: 'invalid_request' },
  import_task_unknown_remote: { status: 412, type: 'invalid_request' },
  import_task_without_network_task: { status: 503, type: 'invalid_request' },
  index_already_exists: { status: 409, type: 'invalid_request' },
  index_creation_failed: { status: 500, type: 'internal' },
  index_not_found: { status: 404, type: 'invalid_request' },
  internal: { status: 500, type: 'internal' },
  invalid_api_key: { status: 403, type: 'auth' },
  invalid_content_type: { status: 415, type: 'invalid_request' },
  invalid_s_3_snapshot_parameters: { status: 400, type: 'internal' },
  invalid_s_3_snapshot_request: { status: 400, type: 'internal' },
  invalid_state: { status: 500, type: 'internal' },
  invalid_store_file: { status: 500, type: 'internal' },
  io_error: { status: 422, type: 'system' },
  missing_authorization_header: { status: 401, type: 'auth' },
  missing_content_type: { status: 415, type: 'invalid_request' },
  missing_master_key: { status: 401, type: 'auth' },
  network_version_mismatch: { status: 412, type: 'invalid_request' },
  no_leader: { status: 503, type: 'system' },
  no_space_left_on_device: { status: 422, type: 'system' },
  payload_too_large: { status: 413, type: 'invalid_request' },
  proxy_could_not_send_request: { status: 502, type: 'system' },
  receive_import_finished_unknown_remote: { status: 412, type: 'invalid_request' },
  remote_bad_response: { status: 502, type: 'system' },
  remote_could_not_send_request: { status: 502, type: 'system' },
  remote_invalid_api_key: { status: 403, type: 'auth' },
  remote_remote_error: { status: 502, type: 'system' },
  remote_timeout: { status: 502, type: 'system' },
  render_document_not_found: { status: 404, type: 'invalid_request' },
  requires_enterprise_edition: { status: 451, type: 'invalid_request' },
  s_3_snapshot_server_error: { status: 502, type: 'internal' },
  search_canceled: { status: 409, type: 'system' },
  search_not_found: { status: 404, type: 'invalid_request' },
  task_crashed: { status: 500, type: 'internal' },
  task_file_not_found: { status: 404, type: 'invalid_request' },
  task_not_found: { status: 404, type: 'invalid_request' },
  too_many_open_files: { status: 422, type: 'system' },
  too_many_requests: { status: 429, type: 'system' },
  too_many_search_requests: { status: 503, type: 'system' },
  unimplemented_external_function_calling: { status: 501, type: 'invalid_request' },
  unimplemented_multi_choice_chat_completions: { status: 501, type: 'invalid_request' },
  unimplemented_non_streaming_chat_completions: { status: 501, type: 'invalid_request' },
  unretrievable_document: { status: 400, type: 'internal' },
  unsupported_media_type: { status: 415, type: 'invalid_request' },
  webhook_not_found: { status: 404, type: 'invalid_request' },
} as const satisfies Record<string, CodeEntry>;

/** All of these are 400 `invalid_request`. */
const PLAIN = [
  'alias_not_allowed',
  'bad_parameter',
  'bad_request',
  'duplicate_index_found',
  'edit_documents_by_function_error',
  'facet_search_disabled',
  'feature_not_enabled',
  'immutable_api_key_actions',
  'immutable_api_key_created_at',
  'immutable_api_key_expires_at',
  'immutable_api_key_indexes',
  'immutable_api_key_key',
  'immutable_api_key_uid',
  'immutable_api_key_updated_at',
  'immutable_index_created_at',
  'immutable_index_updated_at',
  'immutable_webhook',
  'immutable_webhook_is_editable',
  'immutable_webhook_uuid',
  'inconsistent_document_change_headers',
  'index_primary_key_already_exists',
  'index_primary_key_multiple_candidates_found',
  'index_primary_key_no_candidate_found',
  'index_scoped_api_key_with_global_action',
  'invalid_alias_index_uid',
  'invalid_alias_limit',
  'invalid_alias_offset',
  'invalid_api_key_actions',
  'invalid_api_key_description',
  'invalid_api_key_expires_at',
  'invalid_api_key_indexes',
  'invalid_api_key_limit',
  'invalid_api_key_name',
  'invalid_api_key_offset',
  'invalid_api_key_rate_limit',
  'invalid_api_key_uid',
  'invalid_api_key_weight',
  'invalid_batch_uids',
  'invalid_branch_follow',
  'invalid_chat_completion_api_key',
  'invalid_chat_completion_api_version',
  'invalid_chat_completion_base_api',
  'invalid_chat_completion_deployment_id',
  'invalid_chat_completion_org_id',
  'invalid_chat_completion_pre_query_prompt',
  'invalid_chat_completion_project_id',
  'invalid_chat_completion_prompts',
  'invalid_chat_completion_search_description_prompt',
  'invalid_chat_completion_search_filter_param_prompt',
  'invalid_chat_completion_search_index_uid_param_prompt',
  'invalid_chat_completion_search_query_param_prompt',
  'invalid_chat_completion_source',
  'invalid_chat_completion_system_prompt',
  'invalid_chat_setting_document_template',
  'invalid_document_csv_delimiter',
  'invalid_document_edition_context',
  'invalid_document_edition_function_filter',
  'invalid_document_fields',
  'invalid_document_filter',
  'invalid_document_geo_field',
  'invalid_document_geojson_field',
  'invalid_document_id',
  'invalid_document_ids',
  'invalid_document_limit',
  'invalid_document_offset',
  'invalid_document_retrieve_vectors',
  'invalid_document_sort',
  'invalid_document_use_network',
  'invalid_dump_limit',
  'invalid_dump_offset',
  'invalid_dynamic_search_rule_actions',
  'invalid_dynamic_search_rule_active',
  'invalid_dynamic_search_rule_conditions',
  'invalid_dynamic_search_rule_description',
  'invalid_dynamic_search_rule_filter',
  'invalid_dynamic_search_rule_filter_active',
  'invalid_dynamic_search_rule_filter_query',
  'invalid_dynamic_search_rule_limit',
  'invalid_dynamic_search_rule_offset',
  'invalid_dynamic_search_rule_priority',
  'invalid_export_api_key',
  'invalid_export_index_filter',
  'invalid_export_index_override_settings',
  'invalid_export_indexes_patterns',
  'invalid_export_payload_size',
  'invalid_export_url',
  'invalid_facet_search_exhaustive_facet_count',
  'invalid_facet_search_facet_name',
  'invalid_facet_search_most_frequent',
  'invalid_facet_search_name',
  'invalid_facet_search_query',
  'invalid_header_value',
  'invalid_index_custom_metadata',
  'invalid_index_fields_filter',
  'invalid_index_fields_filter_attribute_patterns',
  'invalid_index_fields_filter_displayed',
  'invalid_index_fields_filter_distinct',
  'invalid_index_fields_filter_filterable',
  'invalid_index_fields_filter_ranking_rule',
  'invalid_index_fields_filter_searchable',
  'invalid_index_fields_filter_sortable',
  'invalid_index_limit',
  'invalid_index_offset',
  'invalid_index_primary_key',
  'invalid_index_uid',
  'invalid_multi_search_distinct',
  'invalid_multi_search_facet_order',
  'invalid_multi_search_facets',
  'invalid_multi_search_facets_by_index',
  'invalid_multi_search_federated',
  'invalid_multi_search_federation_options',
  'invalid_multi_search_max_values_per_facet',
  'invalid_multi_search_merge_facets',
  'invalid_multi_search_query_facets',
  'invalid_multi_search_query_pagination',
  'invalid_multi_search_query_personalization',
  'invalid_multi_search_query_position',
  'invalid_multi_search_query_ranking_rules',
  'invalid_multi_search_query_show_performance_details',
  'invalid_multi_search_remote',
  'invalid_multi_search_weight',
  'invalid_network_leader',
  'invalid_network_remotes',
  'invalid_network_search_api_key',
  'invalid_network_self',
  'invalid_network_sharding',
  'invalid_network_shards',
  'invalid_network_url',
  'invalid_network_write_api_key',
  'invalid_passages_documents',
  'invalid_passages_max_tokens',
  'invalid_render_input',
  'invalid_render_template',
  'invalid_search_attributes_to_crop',
  'invalid_search_attributes_to_highlight',
  'invalid_search_attributes_to_retrieve',
  'invalid_search_attributes_to_search_on',
  'invalid_search_crop_length',
  'invalid_search_crop_marker',
  'invalid_search_distinct',
  'invalid_search_embedder',
  'invalid_search_diversity',
  'invalid_search_facet_stats',
  'invalid_search_facets',
  'invalid_search_facets_per',
  'invalid_search_filter',
  'invalid_search_group_by',
  'invalid_search_highlight_post_tag',
  'invalid_search_highlight_pre_tag',
  'invalid_search_hits_per_page',
  'invalid_search_hybrid_query',
  'invalid_search_interleave',
  'invalid_search_limit',
  'invalid_search_locales',
  'invalid_search_matching_strategy',
  'invalid_search_media',
  'invalid_search_media_and_vector',
  'invalid_search_offset',
  'invalid_search_page',
  'invalid_search_personalize',
  'invalid_search_personalize_user_context',
  'invalid_search_q',
  'invalid_search_ranking_score_threshold',
  'invalid_search_rerank',
  'invalid_search_retrieve_vectors',
  'invalid_search_semantic_ratio',
  'invalid_search_show_matches_position',
  'invalid_search_show_passages',
  'invalid_search_show_performance_details',
  'invalid_search_show_ranking_score',
  'invalid_search_show_ranking_score_details',
  'invalid_search_sort',
  'invalid_search_use_network',
  'invalid_search_vector',
  'invalid_settings_default_matching_strategy',
  'invalid_settings_dictionary',
  'invalid_settings_displayed_attributes',
  'invalid_settings_distinct_attribute',
  'invalid_settings_embedders',
  'invalid_settings_expires_at_attribute',
  'invalid_settings_facet_search',
  'invalid_settings_faceting',
  'invalid_settings_filterable_attributes',
  'invalid_settings_foreign_keys',
  'invalid_settings_index_chat',
  'invalid_settings_localized_attributes',
  'invalid_settings_non_separator_tokens',
  'invalid_settings_pagination',
  'invalid_settings_prefix_search',
  'invalid_settings_proximity_precision',
  'invalid_settings_ranking_rules',
  'invalid_settings_rerankers',
  'invalid_settings_search_cutoff_ms',
  'invalid_settings_searchable_attributes',
  'invalid_settings_semantic_cutoff',
  'invalid_settings_separator_tokens',
  'invalid_settings_sortable_attributes',
  'invalid_settings_stop_words',
  'invalid_settings_substring_attributes',
  'invalid_settings_suggestions',
  'invalid_settings_synonyms',
  'invalid_settings_typo_tolerance',
  'invalid_settings_vector_store',
  'invalid_similar_attributes_to_retrieve',
  'invalid_similar_embedder',
  'invalid_similar_filter',
  'invalid_similar_id',
  'invalid_similar_limit',
  'invalid_similar_offset',
  'invalid_similar_ranking_score_threshold',
  'invalid_similar_retrieve_vectors',
  'invalid_similar_show_passages',
  'invalid_similar_show_performance_details',
  'invalid_similar_show_ranking_score',
  'invalid_similar_show_ranking_score_details',
  'invalid_skip_creation',
  'invalid_stats_show_internal_database_sizes',
  'invalid_stats_size_format',
  'invalid_suggest_limit',
  'invalid_suggest_q',
  'invalid_swap_duplicate_index_found',
  'invalid_swap_indexes',
  'invalid_swap_rename',
  'invalid_task_after_enqueued_at',
  'invalid_task_after_finished_at',
  'invalid_task_after_started_at',
  'invalid_task_before_enqueued_at',
  'invalid_task_before_finished_at',
  'invalid_task_before_started_at',
  'invalid_task_canceled_by',
  'invalid_task_from',
  'invalid_task_limit',
  'invalid_task_reverse',
  'invalid_task_statuses',
  'invalid_task_types',
  'invalid_task_uids',
  'invalid_vector_dimensions',
  'invalid_vectors_type',
  'invalid_webhook_headers',
  'invalid_webhook_url',
  'invalid_webhook_uuid',
  'invalid_webhooks',
  'malformed_payload',
  'max_fields_limit_exceeded',
  'missing_alias_index_uid',
  'missing_api_key_actions',
  'missing_api_key_expires_at',
  'missing_api_key_indexes',
  'missing_document_edition_function',
  'missing_document_filter',
  'missing_document_id',
  'missing_facet_search_facet_name',
  'missing_index_uid',
  'missing_network_url',
  'missing_payload',
  'missing_search_hybrid',
  'missing_swap_indexes',
  'missing_task_filters',
  'network_version_too_old',
  'not_found_similar_id',
  'not_leader',
  'remote_bad_request',
  'template_parsing_error',
  'template_rendering_error',
  'too_many_vectors',
  'unexpected_network_previous_remotes',
  'unknown_remote',
  'unprocessed_network_task',
  'unretrievable_error_code',
  'vector_embedding_error',
] as const;

export type ErrorCode = keyof typeof SPECIAL | (typeof PLAIN)[number];

export const ERROR_CATALOGUE: ReadonlyMap<ErrorCode, CodeEntry> = new Map<ErrorCode, CodeEntry>([
  ...(Object.entries(SPECIAL) as [ErrorCode, CodeEntry][]),
  ...PLAIN.map((code): [ErrorCode, CodeEntry] => [code, INVALID_REQUEST]),
]);

/** Base of `link`; the anchor is the code. */
export const DOCUMENTATION_BASE = 'https://docs.meilisearch.com';

/**
 * The error object of the API: in responses, in failed tasks, in `remoteErrors`. Keys in this
 * order.
 */
export interface ErrorBody {
  message: string;
  code: string;
  type: ErrorType;
  link: string;
}

/** Maximum length of an error message, UTF-16 units. */
export const MESSAGE_UNITS_MAX = 8192;

/** Length kept of the end of a longer message: the end says what is expected. */
const MESSAGE_END_UNITS = 2048;

/** Copies a shortened text: a substring would keep the whole string in memory. */
function shortened(message: string): string {
  if (message.length <= MESSAGE_UNITS_MAX) return message;
  const begin = message.slice(0, MESSAGE_UNITS_MAX - MESSAGE_END_UNITS - 3);
  const whole = `${begin}...${message.slice(-MESSAGE_END_UNITS)}`;
  return new TextDecoder().decode(new TextEncoder().encode(whole));
}

/** The part of a request that an error is about. */
export interface ErrorLocation {
  /** Index of one of several queries. */
  query?: number;
  /** Another part of the request, such as `federation.facetsByIndex`. */
  path?: string;
  index?: string;
}

/** The message of an error: its text, preceded by its location. */
function rendered(text: string, { query, path, index }: ErrorLocation): string {
  const part = query === undefined ? path : `queries[${query}]`;
  const inside = part === undefined ? '' : `Inside \`.${part}\`: `;
  return `${inside}${index === undefined ? '' : `Index \`${index}\`: `}${text}`;
}

/** A failure reported to the client. Any other thrown error is a bug and reported as `internal`. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly type: ErrorType;
  /**
   * HTTP status; follows from the code except where the location decides (index_not_found in
   * multi-search).
   */
  readonly status: number;
  /** The message without the location. */
  readonly text: string;
  readonly at: ErrorLocation;

  /** @param text quotations of long requests are cut */
  constructor(code: ErrorCode, text: string, status?: number, at: ErrorLocation = {}) {
    const kept = shortened(text);
    super(shortened(rendered(kept, at)));
    this.text = kept;
    this.at = at;
    this.name = 'ApiError';
    const entry = ERROR_CATALOGUE.get(code) ?? ERROR_CATALOGUE.get('internal')!;
    this.code = code;
    this.type = entry.type;
    this.status = status ?? entry.status;
  }

  /** The same error at another location; members absent in `at` stay. */
  locatedAt(at: ErrorLocation): ApiError {
    return new ApiError(this.code, this.text, this.status, { ...this.at, ...at });
  }

  /** The same error, for the only query of a request. */
  ofWhole(): ApiError {
    const { query: _, ...at } = this.at;
    return new ApiError(this.code, this.text, this.status, at);
  }

  /** The error for clients: without paths of this machine, which only the log contains. */
  toJSON(): ErrorBody {
    const ofMachine = this.type === 'internal' || this.type === 'system';
    const message = ofMachine ? withoutFolders(this.message) : this.message;
    return { message, code: this.code, type: this.type, link: errorLink(this.code) };
  }
}

/** Absolute paths, either in any kind of quotes, where they may contain spaces, or bare. */
const PATHS =
  /(?<=(['"`]))\/[^'"`\n]*\/([^'"`/\n]+)(?=\1)|(?<![\w.:/])\/(?:[^\s/'"`]+\/)+([^\s/'"`]+)/g;

/** Reduces each absolute path to its last name. */
export function withoutFolders(message: string): string {
  return message.replace(PATHS, (_, _quote, quoted: string, bare: string) => quoted ?? bare);
}

export function errorLink(code: string): string {
  return `${DOCUMENTATION_BASE}/errors#${code}`;
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && ERROR_CATALOGUE.has(code as ErrorCode);
}

/** A failure as a value. */
export function fail(code: ErrorCode, message: string): Result<never, ApiError> {
  return err(new ApiError(code, message));
}

/**
 * Converts any thrown value to an error for the client. Native errors carry a code of the
 * catalogue.
 */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const code = (thrown as { code?: unknown } | null)?.code;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (isErrorCode(code)) return new ApiError(code, message);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ApiError(
      'no_space_left_on_device',
      `No space is left on the disk (${message}). Free some space and check the permissions of the data folder.`,
    );
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new ApiError(
      'too_many_open_files',
      `Too many files are open (${message}). Raise the limit of open files of the process.`,
    );
  }
  if (code === 'EIO') return new ApiError('io_error', `Reading or writing failed: ${message}.`);
  return new ApiError('internal', `An unexpected error occurred: ${message}`);
}

export function indexNotFound(uid: string, status?: number): ApiError {
  return new ApiError('index_not_found', `Index \`${uid}\` not found.`, status);
}

export function taskNotFound(uid: number | string): ApiError {
  return new ApiError('task_not_found', `Task \`${uid}\` not found.`);
}

export function batchNotFound(uid: number | string): ApiError {
  return new ApiError('batch_not_found', `Batch \`${uid}\` not found.`);
}

export function documentNotFound(id: string): ApiError {
  return new ApiError('document_not_found', `Document \`${id}\` not found.`);
}

export function noLeader(): ApiError {
  return new ApiError('no_leader', 'The cluster has no leader at present. Try again in a second.');
}

/** `action`: what was attempted, as the beginning of a sentence ("Setting the `chat` setting"). */
/** The response of an export's target when it is the exporting server itself. */
export function exportToItself(): ApiError {
  return new ApiError(
    'invalid_export_url',
    'The `url` of the export leads to the exporting server itself; nothing was sent to it.',
  );
}

export function featureNotEnabled(action: string, feature: string): ApiError {
  return new ApiError(
    'feature_not_enabled',
    `${action} needs the experimental feature \`${feature}\`, which is off. ` +
      `Switch it on with PATCH /experimental-features and the body {"${feature}": true}.`,
  );
}
