// Splits payloads of documents, JSON, NDJSON or CSV, into one slice of JSON text per document.
//
// A payload is checked in full before it is accepted (CheckPayload) and read again when it is
// indexed (ForEachDocument). Both walk the bytes once with the same scanner: it finds where an
// object ends by tracking strings and brackets, 64 bytes per step; simdjson then validates the
// slice. CSV is converted to NDJSON on acceptance, so later steps read only two formats.
//
// What is accepted:
//   kJson    one object, or an array of objects. Text after a complete array is ignored; after an
//            object it is a fault.
//   kNdjson  objects separated by any white space or by nothing at all; an object may span lines.
//   CSV      RFC 4180 with a header; see ConvertCsv.
//   all      UTF-8, a byte order mark at the start is skipped. Objects and arrays nest at most
//            kDepthMax deep, counted from the document. No lone surrogate escapes, no numbers
//            beyond the range of a double. Repeated keys are kept: the last one counts, which is up
//            to the consumer.
//
// Faults: Status::Invalid with detail "malformed_payload"; the message names the format, the reason
// and the position.
//
// Memory: the bytes are borrowed (map a large file); in addition one document and simdjson's tape
// for it.
// Threads: all functions are reentrant.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"

namespace gannet::indexing {

enum class PayloadFormat : uint8_t { kJson, kNdjson, kCsv };

inline constexpr int kDepthMax = 128;

// Readable bytes after every slice that ForEachDocument hands out: simdjson reads this far past its
// input.
inline constexpr size_t kDocumentPadding = 32;

// Checks the syntax of a whole payload and returns the number of its documents.
// REQUIRES: format is kJson or kNdjson
// cost  one pass, above 1 GB/s
Result<uint64_t> CheckPayload(std::string_view bytes, PayloadFormat format);

// Calls `sink` with the JSON text of each document, in order; stops at the first Status that is not
// ok and returns it. The slice is the exact text of the object in the payload, with one exception:
// integers beyond 64 bits, which simdjson refuses, get ".0" appended and so are read as doubles.
// simdjson's DOM parses every slice of a checked payload.
// lifetime  the slice and kDocumentPadding bytes after it are readable until `sink` returns
// REQUIRES  format is kJson or kNdjson, and CheckPayload accepted `bytes`; otherwise slices may
//           not be valid JSON
Status ForEachDocument(std::string_view bytes, PayloadFormat format,
                       const std::function<Status(std::string_view document)>& sink);

// Limits on the header of a CSV payload: columns, as many as a document may have attributes; total
// bytes of their names.
inline constexpr size_t kCsvColumnsMax = kFieldsMax;
inline constexpr size_t kCsvHeaderBytesMax = size_t{4} << 20;

// The limit of the NDJSON that a CSV payload may become, in bytes: its column names are repeated in
// every line, so a few kilobytes could fill a disk. 64 times its bytes or 1 MiB, whichever is more;
// above 1 GiB only 10 times its bytes.
uint64_t NdjsonBytesMax(uint64_t csv_bytes);

// Converts CSV to NDJSON, one line per record, and returns the number of records.
//
// The first record is the header. A cell `name:type` has the type after its last colon if that is
// `string`, `number` or `boolean`; any other cell is a name of type string. Empty cells are null.
// Numbers and booleans are trimmed; strings are not. An unclosed quotation mark ends with the
// input, as in most readers. Blank lines are skipped. Keys come in header order.
// delimiter  one ASCII character
// write      receives the lines in pieces of about 64 KiB, which may end within a line; its failure
//            ends the conversion and is returned
// errors     apart from the general ones: a cell that does not fit its type, a record with another
//            number of fields than the header, a header beyond its limits; the message gives the
//            number of the record, counted from 1 after the header
// memory     one cell, the header
Result<uint64_t> ConvertCsv(std::string_view csv, char delimiter,
                            const std::function<Status(std::string_view ndjson_chunk)>& write);

}  // namespace gannet::indexing
