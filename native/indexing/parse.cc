#include "indexing/parse.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gannet::indexing {
namespace {

static_assert(kDocumentPadding >= simdjson::SIMDJSON_PADDING);

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view WithoutByteOrderMark(std::string_view bytes) {
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  return bytes;
}

const char* FormatName(PayloadFormat format) {
  switch (format) {
    case PayloadFormat::kJson: return "json";
    case PayloadFormat::kNdjson: return "ndjson";
    case PayloadFormat::kCsv: return "csv";
  }
  return "";
}

Status Malformed(PayloadFormat format, std::string_view reason) {
  std::string message = "The ";
  message += FormatName(format);
  message += " payload is malformed: ";
  message += reason;
  message += '.';
  return Status::Invalid(std::move(message), "malformed_payload");
}

// `reason` with the line and column, both from 1, columns in characters, of payload[offset].
Status MalformedAt(PayloadFormat format, std::string_view payload, size_t offset,
                   std::string_view reason) {
  const std::string_view before = payload.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  const size_t column = 1 + CountChars(before.substr(line_start));
  return Malformed(format, std::string(reason) + " at line " + std::to_string(line) + " column " +
                               std::to_string(column));
}

// The value or the character that stands at the start of `text`, for a message.
std::string Quoted(std::string_view text) {
  size_t end = 0;
  if (!text.empty() && text[0] == '"') {
    for (end = 1; end < text.size() && text[end] != '"'; ++end) end += text[end] == '\\';
    end = std::min(end + 1, text.size());
  } else {
    const auto ends = [](char c) { return IsSpace(c) || c == ',' || c == ']' || c == '}'; };
    while (end < text.size() && !ends(text[end])) ++end;
    end = std::max(end, std::min<size_t>(1, text.size()));
  }
  return '`' + Shortened(text.substr(0, end)) + '`';
}

// ---- Where is the fault? ------------------------------------------------------------------------

// A plain validator for one JSON object, run only to explain what simdjson or the scanner refused.
class FaultFinder {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}

  struct Fault {
    size_t offset;
    std::string reason;
  };

  Fault Find() {
    // One bit per open container: true for an object.
    std::vector<bool> open;
    bool value_expected = true;
    do {
      if (value_expected) {
        Space();
        if (Done()) return Fail("the text ends where a value is expected");
        const char c = text_[at_];
        if (c == '{' || c == '[') {
          if (static_cast<int>(open.size()) == kDepthMax) {
            return Fail("more than " + std::to_string(kDepthMax) + " nested objects and arrays");
          }
          open.push_back(c == '{');
          ++at_;
          Space();
          if (!Done() && text_[at_] == (c == '{' ? '}' : ']')) {
            ++at_;
            open.pop_back();
          } else {
            if (c == '{' && !Key()) return *fault_;
            continue;
          }
        } else if (!Scalar()) {
          return *fault_;
        }
        value_expected = false;
      }
      if (open.empty()) break;
      Space();
      if (Done()) return Fail(open.back() ? "an object is not closed" : "an array is not closed");
      const char c = text_[at_];
      if (c == ',') {
        ++at_;
        if (open.back() && !Key()) return *fault_;
        value_expected = true;
      } else if (c == (open.back() ? '}' : ']')) {
        ++at_;
        open.pop_back();
      } else {
        return Fail(std::string("expected `,` or `") + (open.back() ? '}' : ']') + "`, found " +
                    Quoted(text_.substr(at_)));
      }
    } while (!open.empty());
    return {0, "the document is not valid JSON"};
  }

 private:
  bool Done() const { return at_ == text_.size(); }
  void Space() {
    while (!Done() && IsSpace(text_[at_])) ++at_;
  }
  Fault Fail(std::string reason) {
    fault_ = Fault{at_, std::move(reason)};
    return *fault_;
  }
  bool No(std::string reason) {
    Fail(std::move(reason));
    return false;
  }

  bool Key() {
    Space();
    if (Done()) return No("an object is not closed");
    if (text_[at_] != '"')
      return No("expected a key in quotation marks, found " + Quoted(text_.substr(at_)));
    if (!String()) return false;
    Space();
    if (Done() || text_[at_] != ':') return No("expected `:` after the key");
    ++at_;
    return true;
  }

  bool Scalar() {
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view word : {"true", "false", "null"}) {
      if (rest.starts_with(word)) {
        at_ += word.size();
        return true;
      }
    }
    if (rest[0] == '"') return String();
    if (rest[0] == '-' || IsDigit(rest[0])) return Number();
    return No("expected a value, found " + Quoted(rest));
  }

  bool Number() {
    const size_t start = at_;
    at_ += text_[at_] == '-';
    const auto digits = [&] {
      const size_t from = at_;
      while (!Done() && IsDigit(text_[at_])) ++at_;
      return at_ - from;
    };
    const bool zero = !Done() && text_[at_] == '0';
    const size_t whole = digits();
    bool good = whole == 1 || (whole > 1 && !zero);
    if (good && !Done() && text_[at_] == '.') {
      ++at_;
      good = digits() > 0;
    }
    if (good && !Done() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      at_ += !Done() && (text_[at_] == '+' || text_[at_] == '-');
      good = digits() > 0;
    }
    const std::string_view number = text_.substr(start, at_ - start);
    double value = 0;
    if (good && std::from_chars(number.data(), number.data() + number.size(), value).ec ==
                    std::errc::result_out_of_range) {
      // Too small is fine: it reads as zero.
      if (std::fabs(std::strtod(std::string(number).c_str(), nullptr)) > 1) {
        at_ = start;
        return No("the number " + Quoted(number) + " is out of range");
      }
    }
    if (!good) {
      at_ = start;
      return No("invalid number " + Quoted(text_.substr(start)));
    }
    return true;
  }

  // Value of the four hexadecimal digits at text_[at], or -1.
  int Hex4(size_t at) const {
    if (at + 4 > text_.size()) return -1;
    int value = 0;
    for (size_t i = at; i < at + 4; ++i) {
      const char c = text_[i];
      const int digit = IsDigit(c)                           ? c - '0'
                        : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                             : -1;
      if (digit < 0) return -1;
      value = value * 16 + digit;
    }
    return value;
  }

  bool String() {
    const size_t start = at_++;
    while (!Done()) {
      const uint8_t c = static_cast<uint8_t>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return No("a control character in a string must be escaped");
      if (c == '\\') {
        const char e = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        if (e == 'u') {
          const int unit = Hex4(at_ + 2);
          if (unit < 0) return No("invalid escape in a string");
          const bool high = unit >= 0xd800 && unit < 0xdc00;
          if (unit >= 0xdc00 && unit < 0xe000) return No("lone surrogate in a string");
          if (high) {
            const bool pair =
                at_ + 7 < text_.size() && text_[at_ + 6] == '\\' && text_[at_ + 7] == 'u';
            const int low = pair ? Hex4(at_ + 8) : -1;
            if (low < 0xdc00 || low >= 0xe000) return No("lone surrogate in a string");
          }
          at_ += high ? 12 : 6;
        } else if (e != '\0' && std::strchr("\"\\/bfnrt", e) != nullptr) {
          at_ += 2;
        } else {
          return No("invalid escape in a string");
        }
      } else if (c < 0x80) {
        ++at_;
      } else {
        const size_t from = at_;
        const char32_t decoded = DecodeUtf8(text_, at_);
        std::string again;
        AppendUtf8(again, decoded);
        const bool surrogate = decoded >= 0xd800 && decoded < 0xe000;
        if (again != text_.substr(from, at_ - from) || surrogate || decoded > 0x10ffff) {
          at_ = from;
          return No("invalid UTF-8");
        }
      }
    }
    at_ = start;
    return No("a string is not closed");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::optional<Fault> fault_;
};

// ---- Scanner ------------------------------------------------------------------------------------

// One bit per byte of a block of 64, the first byte in bit 0.
struct BlockMasks {
  uint64_t quotes;
  uint64_t backslashes;
  uint64_t brackets;  // { } [ ]
  uint64_t digits;
};

#if defined(__SSE2__)
BlockMasks Classify(const char* block) {
  BlockMasks masks{};
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * i));
    const auto bits = [&](__m128i matches) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(matches))) << (16 * i);
    };
    // '[' and '{', as well as ']' and '}', differ only in bit 0x20.
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i from_zero = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    masks.quotes |= bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    masks.backslashes |= bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    masks.brackets |= bits(_mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                        _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'))));
    masks.digits |= bits(_mm_cmpeq_epi8(_mm_min_epu8(from_zero, _mm_set1_epi8(9)), from_zero));
  }
  return masks;
}
#else
BlockMasks Classify(const char* block) {
  BlockMasks masks{};
  for (int i = 0; i < 64; ++i) {
    const char c = block[i];
    masks.quotes |= uint64_t{c == '"'} << i;
    masks.backslashes |= uint64_t{c == '\\'} << i;
    masks.brackets |= uint64_t{c == '{' || c == '}' || c == '[' || c == ']'} << i;
    masks.digits |= uint64_t{IsDigit(c)} << i;
  }
  return masks;
}
#endif

// Bit i of the result: parity of bits 0..i.
uint64_t PrefixXor(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

struct ObjectScan {
  const char* end = nullptr;  // behind the closing brace; null: the object is not closed
  bool too_deep = false;
  bool escapes = false;       // holds a backslash
  bool long_integer = false;  // outside of strings there are 19 digits in a row or more
};

// Whether 19 bits in a row are set: `bits` with `before` in front of them.
bool HasLongRun(uint64_t before, uint64_t bits) {
  // Such a run has at least 10 of them in one of the two.
  const auto ten = [](uint64_t runs) {
    runs &= runs >> 1;  // 2 in a row
    runs &= runs >> 2;  // 4
    runs &= runs >> 4;  // 8
    return runs & runs >> 2;
  };
  if ((ten(before) | ten(bits)) == 0) return false;
  unsigned __int128 runs = static_cast<unsigned __int128>(bits) << 64 | before;
  runs &= runs >> 1;
  runs &= runs >> 2;
  runs &= runs >> 4;
  runs &= runs >> 8;  // 16
  runs &= runs >> 3;
  return runs != 0;
}

// Finds the end of the object that starts at `begin`, if there is a valid one; what stands between
// is not validated.
ObjectScan ScanObject(const char* begin, const char* end) {
  ObjectScan scan;
  uint64_t in_string = 0;      // all ones while a string continues from the block before
  uint64_t escaped_carry = 0;  // 1 when the first byte of the block is escaped
  uint64_t digits_before = 0;  // outside of strings, in the block before
  int depth = 0;
  for (const char* at = begin; at < end; at += 64) {
    char tail[64];
    const char* block = at;
    if (end - at < 64) {
      std::memset(tail, ' ', sizeof tail);
      std::memcpy(tail, at, static_cast<size_t>(end - at));
      block = tail;
    }
    BlockMasks masks = Classify(block);
    if ((masks.backslashes | escaped_carry) != 0) {
      scan.escapes = true;
      uint64_t escaped = escaped_carry;
      uint64_t left = masks.backslashes & ~escaped;
      escaped_carry = 0;
      while (left != 0) {
        const int i = std::countr_zero(left);
        if (i == 63) {
          escaped_carry = 1;
          break;
        }
        escaped |= uint64_t{2} << i;
        left &= ~(uint64_t{3} << i);
      }
      masks.quotes &= ~escaped;
    }
    const uint64_t string = PrefixXor(masks.quotes) ^ in_string;
    in_string = static_cast<uint64_t>(static_cast<int64_t>(string) >> 63);

    const uint64_t digits = masks.digits & ~string;
    scan.long_integer |= HasLongRun(digits_before, digits);
    digits_before = digits;

    for (uint64_t left = masks.brackets & ~string; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      if ((block[i] | 0x20) == '{') {
        scan.too_deep |= ++depth > kDepthMax;
      } else if (--depth == 0) {
        scan.end = at + i + 1;
        return scan;
      }
    }
  }
  return scan;
}

// True if the digits of an integer, without its sign, do not fit 64 bits: unsigned, or signed when
// `negative`.
bool Beyond64Bits(std::string_view digits, bool negative) {
  const std::string_view limit = negative ? "9223372036854775808" : "18446744073709551615";
  return digits.size() > limit.size() || (digits.size() == limit.size() && digits > limit);
}

// `document` with ".0" behind every integer beyond 64 bits; nullopt when there is none.
std::optional<std::string> WidenIntegers(std::string_view document) {
  std::string widened;
  size_t copied = 0;
  bool in_string = false;
  for (size_t i = 0; i < document.size();) {
    const char c = document[i];
    if (in_string) {
      in_string = c != '"';
      i += c == '\\' ? 2 : 1;
    } else if (IsDigit(c)) {
      const size_t start = i;
      while (i < document.size() && IsDigit(document[i])) ++i;
      const char before = start == 0 ? ' ' : document[start - 1];
      const char after = i == document.size() ? ' ' : document[i];
      const bool integer = before != '.' && before != '+' && (before | 0x20) != 'e' &&
                           after != '.' && (after | 0x20) != 'e';
      // The '-' of an exponent is caught by what stands before it: "1e-5".
      const bool exponent = before == '-' && start >= 2 && (document[start - 2] | 0x20) == 'e';
      if (integer && !exponent && Beyond64Bits(document.substr(start, i - start), before == '-')) {
        widened.append(document.substr(copied, i - copied));
        widened += ".0";
        copied = i;
      }
    } else {
      in_string = c == '"';
      ++i;
    }
  }
  if (copied == 0) return std::nullopt;
  widened.append(document.substr(copied));
  return widened;
}

// True if all \uXXXX escapes of surrogates come in pairs. simdjson 0.9 lets lone low ones, and high
// ones before any other \u escape, pass and writes bytes that are not UTF-8.
// REQUIRES: `document` is otherwise valid JSON
bool SurrogatesPaired(std::string_view document) {
  const auto unit_at =
      [&](size_t at) -> int {  // of the escape at document[at], -1 if it is not \uXXXX
    if (at + 6 > document.size() || document[at] != '\\' || document[at + 1] != 'u') return -1;
    unsigned unit = 0;
    std::from_chars(document.data() + at + 2, document.data() + at + 6, unit, 16);
    return static_cast<int>(unit);
  };
  for (size_t at = document.find('\\'); at != document.npos; at = document.find('\\', at)) {
    const int unit = unit_at(at);
    if (unit < 0xd800 || unit > 0xdfff) {
      at += 2;
      continue;
    }
    const int low = unit_at(at + 6);
    if (unit >= 0xdc00 || low < 0xdc00 || low > 0xdfff) return false;
    at += 12;
  }
  return true;
}

// Walks the documents of a payload.
class PayloadScanner {
 public:
  PayloadScanner(std::string_view bytes, PayloadFormat format)
      : format_(format),
        payload_(WithoutByteOrderMark(bytes)),
        at_(payload_.data()),
        end_(payload_.data() + payload_.size()) {}

  struct Document {
    std::string_view text;
    ObjectScan scan;
  };

  // The next document; nullopt at the end.
  Result<std::optional<Document>> Next() {
    if (state_ == State::kStart) {
      SkipSpace();
      if (format_ == PayloadFormat::kJson) {
        if (at_ == end_)
          return Fault("an object or an array of objects is expected, and the payload is blank");
        if (*at_ == '[') {
          ++at_;
          SkipSpace();
          state_ = State::kInArray;
          if (at_ != end_ && *at_ == ']') return EndOfArray();
        } else if (*at_ == '{') {
          state_ = State::kSingle;
        } else {
          return Fault("an object or an array of objects is expected, found " + Quoted(Rest()));
        }
      } else {
        state_ = State::kSequence;
      }
    } else if (state_ == State::kSingle) {
      SkipSpace();
      if (at_ != end_) return Fault("trailing characters behind the document: " + Quoted(Rest()));
      return std::optional<Document>();
    } else if (state_ == State::kInArray) {
      SkipSpace();
      if (at_ == end_) return Fault("the array is not closed");
      if (*at_ == ']') return EndOfArray();
      if (*at_ != ',')
        return Fault("expected `,` or `]` after a document, found " + Quoted(Rest()));
      ++at_;
    }
    SkipSpace();
    if (at_ == end_) {
      if (state_ == State::kInArray) return Fault("the array is not closed");
      return std::optional<Document>();
    }
    if (*at_ != '{') return Fault("an object is expected, found " + Quoted(Rest()));
    Document document;
    document.scan = ScanObject(at_, end_);
    if (document.scan.end == nullptr || document.scan.too_deep) return FaultInside(Rest());
    document.text = {at_, static_cast<size_t>(document.scan.end - at_)};
    at_ = document.scan.end;
    return std::optional<Document>(document);
  }

  // Explains what is wrong inside `text`, a part of the payload that starts where a document does.
  Status FaultInside(std::string_view text) const {
    const FaultFinder::Fault fault = FaultFinder(text).Find();
    return MalformedAt(format_, payload_,
                       static_cast<size_t>(text.data() - payload_.data()) + fault.offset,
                       fault.reason);
  }

  // True if simdjson may read past the end of `text` without leaving the payload.
  bool Padded(std::string_view text) const {
    return static_cast<size_t>(end_ - (text.data() + text.size())) >= kDocumentPadding;
  }

 private:
  enum class State : uint8_t { kStart, kSingle, kInArray, kSequence };

  // No document any more; a fault where something stands behind the array.
  Result<std::optional<Document>> EndOfArray() {
    ++at_;
    SkipSpace();
    if (at_ != end_) return Fault("trailing characters behind the array: " + Quoted(Rest()));
    return std::optional<Document>();
  }

  void SkipSpace() {
    while (at_ != end_ && IsSpace(*at_)) ++at_;
  }
  std::string_view Rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  Status Fault(std::string_view reason) const {
    return MalformedAt(format_, payload_, static_cast<size_t>(at_ - payload_.data()), reason);
  }

  PayloadFormat format_;
  State state_ = State::kStart;
  std::string_view payload_;
  const char* at_;
  const char* end_;
};

// The text to be parsed for a document of the payload: itself, or a copy in `scratch` where it must
// be widened or padded. Always followed by kDocumentPadding readable bytes.
std::string_view Readable(const PayloadScanner& scanner, const PayloadScanner::Document& document,
                          std::string& scratch) {
  std::optional<std::string> widened;
  if (document.scan.long_integer) widened = WidenIntegers(document.text);
  if (!widened && scanner.Padded(document.text)) return document.text;
  scratch = widened ? std::move(*widened) : std::string(document.text);
  const size_t size = scratch.size();
  scratch.append(kDocumentPadding, ' ');
  return std::string_view(scratch).substr(0, size);
}

}  // namespace

Result<uint64_t> CheckPayload(std::string_view bytes, PayloadFormat format) {
  PayloadScanner scanner(bytes, format);
  simdjson::dom::parser parser;
  std::string scratch;
  for (uint64_t count = 0;; ++count) {
    GANNET_ASSIGN_OR_RETURN(const std::optional<PayloadScanner::Document> document, scanner.Next());
    if (!document) return count;
    const std::string_view text = Readable(scanner, *document, scratch);
    const simdjson::error_code error = parser.parse(text.data(), text.size(), false).error();
    if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
      return Status::Limit("A document of " + std::to_string(text.size()) +
                           " bytes is too large to be read.");
    }
    if (error != simdjson::SUCCESS || (document->scan.escapes && !SurrogatesPaired(text))) {
      return scanner.FaultInside(document->text);
    }
  }
}

Status ForEachDocument(std::string_view bytes, PayloadFormat format,
                       const std::function<Status(std::string_view document)>& sink) {
  PayloadScanner scanner(bytes, format);
  std::string scratch;
  for (;;) {
    GANNET_ASSIGN_OR_RETURN(const std::optional<PayloadScanner::Document> document, scanner.Next());
    if (!document) return Status::Ok();
    GANNET_RETURN_IF_ERROR(sink(Readable(scanner, *document, scratch)));
  }
}

// ---- CSV ----------------------------------------------------------------------------------------

namespace {

constexpr size_t kCsvChunkBytes = 64 * 1024;

// The cells of a CSV text, one after the other. A cell is a view of the text, or of `unquoted_`
// where quotation marks were taken out.
class CsvReader {
 public:
  CsvReader(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  // Moves to the next record; false at the end. Blank lines are not records.
  bool NextRecord() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    more_ = at_ < text_.size();
    return more_;
  }

  // Reads the next cell of the record; false behind its last.
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
  // Index of the first delimiter or line end at or behind `from`.
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
    // What stands between the closing mark and the delimiter belongs to the cell.
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

// Appends `cell` as a JSON number; false if it is none. Integers within signed 64 bits stay
// integers.
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
  // Keep it a float for whoever tells 1000 from 1e3.
  if (out.find_first_of(".e", start) == out.npos) out += ".0";
  return true;
}

// Lines of JSON on their way to whoever takes them, some 64 KiB at a time.
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

// Turns the records of a CSV text into lines of JSON.
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
    Status fault;  // told only of a record with the right number of cells
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

  // A number, a boolean or null. Malformed: the cell is none of these.
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
  uint64_t record_ = 0;  // the number of the present one, from 1
};

}  // namespace

Result<uint64_t> ConvertCsv(std::string_view csv, char delimiter,
                            const std::function<Status(std::string_view ndjson_chunk)>& write) {
  csv = WithoutByteOrderMark(csv);
  if (!simdjson::validate_utf8(csv.data(), csv.size()))
    return Malformed(PayloadFormat::kCsv, "it is not valid UTF-8");
  return CsvConverter(csv, delimiter, write).Run();
}

}  // namespace gannet::indexing
