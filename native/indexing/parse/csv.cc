#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "indexing/parse.h"
#include "indexing/parse/fault_finder.h"

namespace gannet::indexing {
namespace {

constexpr size_t kCsvChunkBytes = 64 * 1024;

// The cells of a CSV text, one after another. A cell is a view of the text, or of `unquoted_` if
// quotation marks were removed from it.
class CsvReader {
 public:
  CsvReader(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  // Moves to the next record; false at the end. Blank lines are not records.
  bool NextRecord() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    more_ = at_ < text_.size();
    return more_;
  }

  // Reads the next cell of the record; false after its last.
  // lifetime  the cell is valid until the next call.
  bool NextCell(std::string_view& cell) {
    if (!more_) return false;
    cell = at_ < text_.size() && text_[at_] == '"' ? Quoted() : Plain();
    more_ = at_ < text_.size() && text_[at_] == delimiter_;
    if (more_) {
      ++at_;
    } else if (at_ < text_.size()) {
      at_ += text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n' ? 2 : 1;
    }
    return true;
  }

 private:
  // Index of the first delimiter or line end at or after `from`.
  size_t FieldEnd(size_t from) const {
    while (from < text_.size() && text_[from] != delimiter_ && text_[from] != '\n' &&
           text_[from] != '\r')
      ++from;
    return from;
  }

  std::string_view Plain() {
    const size_t start = at_;
    at_ = FieldEnd(at_);
    return text_.substr(start, at_ - start);
  }

  std::string_view Quoted() {
    unquoted_.clear();
    ++at_;
    for (;;) {
      const size_t quote = text_.find('"', at_);
      if (quote == text_.npos) {  // not closed: up to the end of the text
        unquoted_.append(text_.substr(at_));
        at_ = text_.size();
        return unquoted_;
      }
      unquoted_.append(text_.substr(at_, quote - at_));
      at_ = quote + 1;
      if (at_ == text_.size() || text_[at_] != '"') break;
      unquoted_.push_back('"');
      ++at_;
    }
    // What follows the closing mark, up to the delimiter, belongs to the cell.
    return unquoted_.append(Plain());
  }

  std::string_view text_;
  char delimiter_;
  size_t at_ = 0;
  bool more_ = false;  // the record has another cell
  std::string unquoted_;
};

enum class CellType : uint8_t { kString, kNumber, kBoolean };

struct Column {
  std::string name;
  std::string key;  // `"name":` as JSON
  CellType type = CellType::kString;
};

Column ParseColumn(std::string_view cell) {
  Column column;
  const size_t colon = cell.rfind(':');
  if (colon != cell.npos) {
    const std::string_view type = cell.substr(colon + 1);
    const bool number = type == "number";
    const bool boolean = type == "boolean";
    if (number) column.type = CellType::kNumber;
    if (boolean) column.type = CellType::kBoolean;
    if (number || boolean || type == "string") cell = cell.substr(0, colon);
  }
  column.name = cell;
  AppendJsonString(column.key, cell);
  column.key += ':';
  return column;
}

bool IsUnicodeSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

std::string_view Trimmed(std::string_view text) {
  size_t start = 0;
  for (size_t at = 0; at < text.size(); start = at) {
    if (!IsUnicodeSpace(DecodeUtf8(text, at))) break;
  }
  text.remove_prefix(start);
  while (!text.empty()) {
    const size_t last = CharacterBegin(text, text.size() - 1);
    size_t at = last;
    if (!IsUnicodeSpace(DecodeUtf8(text, at))) break;
    text = text.substr(0, last);
  }
  return text;
}

// Appends `cell` as a JSON number; false if it is not a number. Integers that fit signed 64 bits
// stay integers.
bool AppendNumberCell(std::string& out, std::string_view cell) {
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  int64_t integer = 0;
  if (const auto read = std::from_chars(cell.data(), end, integer);
      read.ec == std::errc() && read.ptr == end) {
    AppendJsonNumber(out, integer);
    return true;
  }
  double number = 0;
  const auto read = std::from_chars(cell.data(), end, number);
  if (read.ptr != end) return false;
  if (read.ec == std::errc::result_out_of_range) {
    number = std::strtod(std::string(cell).c_str(), nullptr);
  } else if (read.ec != std::errc()) {
    return false;
  }
  if (!std::isfinite(number)) return false;
  const size_t start = out.size();
  AppendJsonNumber(out, number);
  // Keep it a float for readers that distinguish 1000 from 1e3.
  if (out.find_first_of(".e", start) == out.npos) out += ".0";
  return true;
}

// Collects lines of JSON and writes them about 64 KiB at a time.
class CsvOutput {
 public:
  using Write = std::function<Status(std::string_view ndjson_chunk)>;
  explicit CsvOutput(const Write& write) : write_(write) {}

  std::string& text() { return text_; }

  // In pieces: a cell may be as long as the payload, and six times as long as JSON.
  Status AppendString(std::string_view cell) {
    text_ += '"';
    while (!cell.empty()) {
      const std::string_view piece = cell.substr(0, kCsvChunkBytes);
      AppendJsonEscaped(text_, piece);
      cell.remove_prefix(piece.size());
      GANNET_RETURN_IF_ERROR(WriteFull());
    }
    text_ += '"';
    return Status::Ok();
  }
  Status WriteFull() { return text_.size() < kCsvChunkBytes ? Status::Ok() : WriteRest(); }
  Status WriteRest() {
    if (text_.empty()) return Status::Ok();
    GANNET_RETURN_IF_ERROR(write_(text_));
    text_.clear();
    return Status::Ok();
  }

 private:
  const Write& write_;
  std::string text_;
};

// Converts the records of a CSV text to lines of JSON.
class CsvConverter {
 public:
  CsvConverter(std::string_view csv, char delimiter, const CsvOutput::Write& write)
      : reader_(csv, delimiter), out_(write) {}

  Result<uint64_t> Run() {
    GANNET_RETURN_IF_ERROR(ReadHeader());
    for (; reader_.NextRecord();) {
      ++record_;
      GANNET_RETURN_IF_ERROR(ConvertRecord());
    }
    GANNET_RETURN_IF_ERROR(out_.WriteRest());
    return record_;
  }

 private:
  static constexpr PayloadFormat kFormat = PayloadFormat::kCsv;

  Status ReadHeader() {
    if (!reader_.NextRecord()) return Status::Ok();
    size_t name_bytes = 0;
    for (std::string_view cell; reader_.NextCell(cell);) {
      if (columns_.size() == kCsvColumnsMax) {
        return Malformed(kFormat,
                         "the header has more than " + std::to_string(kCsvColumnsMax) + " columns");
      }
      name_bytes += cell.size();
      if (name_bytes > kCsvHeaderBytesMax) {
        return Malformed(kFormat, "the names of the columns have more than " +
                                      std::to_string(kCsvHeaderBytesMax) + " bytes together");
      }
      columns_.push_back(ParseColumn(cell));
    }
    return Status::Ok();
  }

  Status ConvertRecord() {
    size_t count = 0;
    Status fault;  // reported only if the record has the right number of cells
    for (std::string_view cell; reader_.NextCell(cell); ++count) {
      if (count >= columns_.size() || !fault.ok()) continue;
      out_.text() += count == 0 ? '{' : ',';
      out_.text() += columns_[count].key;
      GANNET_RETURN_IF_ERROR(out_.WriteFull());
      if (columns_[count].type != CellType::kString) {
        fault = AppendTyped(columns_[count], cell);
      } else if (cell.empty()) {
        out_.text() += "null";
      } else {
        GANNET_RETURN_IF_ERROR(out_.AppendString(cell));
      }
    }
    if (count != columns_.size()) {
      return Malformed(kFormat, "line " + std::to_string(record_) + " has " +
                                    std::to_string(count) + " fields, and the header has " +
                                    std::to_string(columns_.size()));
    }
    GANNET_RETURN_IF_ERROR(fault);
    out_.text() += "}\n";
    return out_.WriteFull();
  }

  // Appends a number, a boolean or null. Malformed: the cell is none of these.
  Status AppendTyped(const Column& column, std::string_view cell) {
    const std::string_view trimmed = Trimmed(cell);
    const bool is_boolean = column.type == CellType::kBoolean;
    if (trimmed.empty()) {
      out_.text() += "null";
    } else if (is_boolean && (trimmed == "true" || trimmed == "false")) {
      out_.text() += trimmed;
    } else if (is_boolean || !AppendNumberCell(out_.text(), trimmed)) {
      return Malformed(kFormat, std::string("invalid ") + (is_boolean ? "boolean " : "number ") +
                                    '`' + Shortened(cell) + "` in line " + std::to_string(record_) +
                                    ", column `" + Shortened(column.name) + "`");
    }
    return Status::Ok();
  }

  CsvReader reader_;
  CsvOutput out_;
  std::vector<Column> columns_;
  uint64_t record_ = 0;  // number of the current record, from 1
};

}  // namespace

uint64_t NdjsonBytesMax(uint64_t csv_bytes) {
  constexpr uint64_t kGrowthMax = 64, kGrowthMaxOfLong = 10;
  constexpr uint64_t kFree = uint64_t{1} << 20, kLong = uint64_t{1} << 30;
  const uint64_t max = std::max(kGrowthMax * csv_bytes, kFree);
  return std::max(kGrowthMaxOfLong * csv_bytes, std::min(max, kLong));
}

Result<uint64_t> ConvertCsv(std::string_view csv, char delimiter,
                            const std::function<Status(std::string_view ndjson_chunk)>& write) {
  csv = WithoutByteOrderMark(csv);
  if (!simdjson::validate_utf8(csv.data(), csv.size()))
    return Malformed(PayloadFormat::kCsv, "it is not valid UTF-8");
  return CsvConverter(csv, delimiter, write).Run();
}

}  // namespace gannet::indexing
