import { paginationQuery } from './pages.ts';

/** The name of a dump, with its uid: the date of its creation. */
export const DUMP_NAME = /^(\d{8}-\d{9})\.dump$/;

/** The date in the uid of a dump. */
export function dumpDate(uid: string): string {
  return uid.replace(/^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(\d{3})$/, '$1-$2-$3T$4:$5:$6.$7Z');
}

export const LIST_DUMPS_QUERY = paginationQuery('invalid_dump_offset', 'invalid_dump_limit');
