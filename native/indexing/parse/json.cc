#include <simdjson.h>

#include <charconv>
#include <optional>
#include <string>

#include "indexing/parse.h"
#include "indexing/parse/fault_finder.h"
#include "indexing/parse/scanner.h"

namespace gannet::indexing {
namespace {

static_assert(kDocumentPadding >= simdjson::SIMDJSON_PADDING);

// Whether the digits of an integer, without its sign, do not fit 64 bits: unsigned, or signed if
// `negative`.
bool Beyond64Bits(std::string_view digits, bool negative) {
  const std::string_view limit = negative ? "9223372036854775808" : "18446744073709551615";
  return digits.size() > limit.size() || (digits.size() == limit.size() && digits > limit);
}

// `document` with ".0" after every integer beyond 64 bits; nullopt if there is none.
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
      // The '-' of an exponent is recognised by the character before it: "1e-5".
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

// Whether all \uXXXX escapes of surrogates are paired. simdjson 0.9 accepts lone low ones, and high
// ones before any other \u escape, and writes bytes that are not UTF-8.
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

// The text to parse for a document of the payload: the document itself, or a copy in `scratch` if
// it must be widened or padded. Always followed by kDocumentPadding readable bytes.
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

}  // namespace gannet::indexing
