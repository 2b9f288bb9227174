/** What tasks do and why they fail, in words. Pure functions. */
import { count, counted } from './format.ts';
import type { Task } from './task.ts';

/** What a task has done, such as `431 documents`; empty: nothing that can be counted. */
export function effectWords({ details, status }: Task): string {
  if (details === null) return '';
  const isRefused = status === 'failed' || status === 'canceled';
  const number = (name: string): number | null =>
    typeof details[name] === 'number' ? details[name] : null;
  const indexed = number('indexedDocuments');
  const received = number('receivedDocuments');
  if (received !== null) {
    return indexed === null || indexed === received || status !== 'succeeded'
      ? counted(received, 'document')
      : `${count(indexed)} of ${counted(received, 'document')}`;
  }
  for (const name of ['deletedDocuments', 'editedDocuments', 'movedDocuments']) {
    const documents = number(name);
    if (documents !== null) return isRefused ? '' : counted(documents, 'document');
  }
  for (const name of ['canceledTasks', 'deletedTasks']) {
    const tasks = number(name);
    if (tasks !== null) return counted(tasks, 'task');
  }
  return typeof details.dumpUid === 'string' ? `${details.dumpUid}.dump` : '';
}

export const ADVICE: Readonly<Record<string, string>> = {
  database_size_limit_reached:
    'The database has reached its maximum size. Delete what you no longer need, or start the server with a larger limit.',
  document_not_found: 'No document has this id.',
  dump_process_failed: 'Check that the folder for dumps can be written and has enough free space.',
  edit_documents_by_function_error:
    'The function failed for a document. No document was changed: correct the function and send it again.',
  index_already_exists: 'Use another uid, or delete the existing index first.',
  index_not_found: 'Create the index first, or correct its uid.',
  index_primary_key_already_exists:
    'The primary key can be changed only while the index is empty. Leave it out, or delete the documents first.',
  index_primary_key_multiple_candidates_found:
    'Several fields end in “id”. Name the one that identifies a document as the primary key.',
  index_primary_key_no_candidate_found:
    'No field ends in “id”. Name the field that identifies a document as the primary key.',
  invalid_document_filter:
    'Correct the filter, or add the attribute to the filterable attributes of the index.',
  invalid_document_geo_field:
    'A place is an object with two numbers: {"lat": 48.86, "lng": 2.35}. Correct the document and send it again.',
  invalid_document_geojson_field: 'Correct the GeoJSON of the document and send it again.',
  invalid_document_id:
    'An id is an integer, or at most 511 letters, digits, “-” and “_”. Correct it and send the documents again.',
  invalid_vector_dimensions:
    'The vectors of a document must have as many numbers as the embedder has dimensions.',
  invalid_vectors_type: 'Vectors are lists of numbers, by the name of their embedder.',
  io_error: 'The disk could not be read or written. Check the log of the server and its disk.',
  malformed_payload: 'The file is not valid. Correct the line in the message and send it again.',
  max_fields_limit_exceeded:
    'The documents have too many different fields. Do not use values as the names of fields.',
  missing_document_id:
    'Every document needs the primary key. Add it to the document in the message and send it again.',
  no_space_left_on_device: 'Free some space on the disk of the server, then run the task again.',
  template_parsing_error: 'Correct the template of the embedder in the settings.',
  template_rendering_error:
    'The template of the embedder uses a field that a document does not have. Test for it with “{% if %}”.',
  too_many_open_files: 'Raise the limit of open files for the server (ulimit -n).',
  vector_embedding_error:
    'The provider of the embedder did not answer as expected. Check its address, its key and its limits, then run the task again.',
};

const ADVICE_BY_TYPE: Readonly<Record<string, string>> = {
  invalid_request: 'The request cannot be carried out as it is. Correct it and send it again.',
  internal: 'The server could not finish the task. The log of the server has the details.',
  system: 'Something outside of the server failed. When it works again, run the task again.',
  auth: 'The key may not do this.',
};

/** What you can do about an error, as a sentence. */
export function adviceFor({ code, type }: { code: string; type?: string }): string {
  return ADVICE[code] ?? ADVICE_BY_TYPE[type ?? ''] ?? ADVICE_BY_TYPE.invalid_request!;
}
