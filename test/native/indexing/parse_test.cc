#include "indexing/parse.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "base/json.h"

namespace gannet::indexing {
namespace {

using Slices = std::vector<std::string>;

// Checks the payload, then collects its documents; nullopt if it is malformed. Every collected
// document is parsed in place, which detects slices without padding or that simdjson cannot parse.
std::optional<Slices> Documents(std::string_view payload, PayloadFormat format) {
  // An allocation of exactly the payload's size lets the address sanitizer see a read past it.
  const std::unique_ptr<char[]> bytes(new char[payload.size()]);
  std::memcpy(bytes.get(), payload.data(), payload.size());
  const std::string_view view(bytes.get(), payload.size());

  const Result<uint64_t> count = CheckPayload(view, format);
  if (!count.ok()) {
    EXPECT_EQ(count.status().code(), StatusCode::kInvalidArgument) << payload;
    EXPECT_EQ(count.status().detail(), "malformed_payload") << payload;
    EXPECT_FALSE(count.status().message().empty());
    return std::nullopt;
  }
  Slices slices;
  simdjson::dom::parser parser;
  const Status status = ForEachDocument(view, format, [&](std::string_view document) {
    slices.emplace_back(document);
    EXPECT_EQ(parser.parse(document.data(), document.size(), false).error(), simdjson::SUCCESS)
        << document;
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(*count, slices.size()) << payload;
  return slices;
}

std::string MessageOf(std::string_view payload, PayloadFormat format) {
  const Result<uint64_t> count = CheckPayload(payload, format);
  return count.ok() ? "accepted" : count.status().message();
}

struct Case {
  std::string payload;
  std::optional<Slices> documents;
};

TEST(JsonPayload, AcceptsAnObjectOrAnArrayOfObjects) {
  const Case cases[] = {
      {R"({"id": 1})", Slices{R"({"id": 1})"}},
      {R"([{"id": 1}])", Slices{R"({"id": 1})"}},
      {"\t[ {\"id\": 22} ,\n {\"id\": 23} ] \n", Slices{R"({"id": 22})", R"({"id": 23})"}},
      {"[]", Slices{}},
      {" [ ] ", Slices{}},
      {"\xef\xbb\xbf[{}]", Slices{"{}"}},
      {R"([{"id": 2}] [])", std::nullopt},
      {R"([{"id": 2}]])", std::nullopt},
      {"[] x", std::nullopt},
      {R"({"a":"]}{[","b":"\"}","c":"\\"})", Slices{R"({"a":"]}{[","b":"\"}","c":"\\"})"}},
      {"[{}{}]", std::nullopt},
      {"", std::nullopt},
      {"   \n", std::nullopt},
      {"[", std::nullopt},
      {R"([{"id": 2})", std::nullopt},
      {R"([{"id": 2},])", std::nullopt},
      {R"([,{"id": 2}])", std::nullopt},
      {"{\"id\": 2}\n{\"id\": 3}", std::nullopt},
      {R"({"id": 2, "title": "unterminated})", std::nullopt},
      {R"({"id": 02})", std::nullopt},
      {R"([{"id": 2, "title": NaN}])", std::nullopt},
      {"{id: 2}", std::nullopt},
      {R"([{"id": 1}, 2])", std::nullopt},
      {R"([[{"id": 1}]])", std::nullopt},
      {"[null]", std::nullopt},
      {"\"id\"", std::nullopt},
      {"42", std::nullopt},
      {"null", std::nullopt},
      {"true", std::nullopt},
      {"id,title\n2,csv", std::nullopt},
      {R"({"a":[}])", std::nullopt},
      {R"({"a":1)", std::nullopt},
      {"{\"a\":\"\xff\"}", std::nullopt},
      {"{\"a\":\"\xed\xa0\x80\"}", std::nullopt},
      {"{\"a\":\"tab\there\"}", std::nullopt},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Documents(c.payload, PayloadFormat::kJson), c.documents) << c.payload;
}

TEST(NdjsonPayload, IsASequenceOfObjectsBetweenAnyWhiteSpace) {
  const Case cases[] = {
      {"{\"id\": 1}\n{\"id\": 2}\n", Slices{R"({"id": 1})", R"({"id": 2})"}},
      {"{\"id\": 3}\r\n\r\n{\"id\": 4}", Slices{R"({"id": 3})", R"({"id": 4})"}},
      {R"({"id": 5}{"id": 6} {"id": 7})", Slices{R"({"id": 5})", R"({"id": 6})", R"({"id": 7})"}},
      {"{\n  \"id\": 8\n}\n\n\n", Slices{"{\n  \"id\": 8\n}"}},
      {"\n \n", Slices{}},
      {"\xef\xbb\xbf{}", Slices{"{}"}},
      {"{\"id\": 9}\n{\"id\": 10, \"name\": \"cut", std::nullopt},
      {"{\"id\": 9}\n{\"id\": 10},\n", std::nullopt},
      {"{'id': 9}\n", std::nullopt},
      {"id,name\n9,csv\n", std::nullopt},
      {"[{\"id\":1}]", std::nullopt},
      {"{}\n1\n", std::nullopt},
      {"{\"a\": 1}]", std::nullopt},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Documents(c.payload, PayloadFormat::kNdjson), c.documents) << c.payload;
}

TEST(Payload, IsRefusedWhenObjectsNestTooDeep) {
  const auto nested = [](int levels) {
    return "{\"a\":" + std::string(static_cast<size_t>(levels - 1), '[') +
           std::string(static_cast<size_t>(levels - 1), ']') + "}";
  };
  for (const PayloadFormat format : {PayloadFormat::kJson, PayloadFormat::kNdjson}) {
    EXPECT_TRUE(Documents(nested(100), format));
    EXPECT_TRUE(Documents(nested(kDepthMax), format));
    EXPECT_FALSE(Documents(nested(kDepthMax + 1), format));
    EXPECT_FALSE(Documents(nested(1000), format));
    EXPECT_FALSE(Documents(nested(1000000), format));
  }
}

TEST(Payload, ReadsIntegersBeyond64BitsAsDoubles) {
  const auto one = [](std::string_view value) {
    return Documents("{\"n\":" + std::string(value) + "}", PayloadFormat::kNdjson);
  };
  const auto is = [&](std::string_view value, std::string_view read) {
    EXPECT_EQ(one(value), Slices{"{\"n\":" + std::string(read) + "}"}) << value;
  };
  is("18446744073709551615", "18446744073709551615");
  is("18446744073709551616", "18446744073709551616.0");
  is("-9223372036854775808", "-9223372036854775808");
  is("-9223372036854775809", "-9223372036854775809.0");
  is("123456789012345678901234567890", "123456789012345678901234567890.0");
  is("[1,99999999999999999999,2]", "[1,99999999999999999999.0,2]");
  is("\"99999999999999999999\"", "\"99999999999999999999\"");
  is("\"\\\"99999999999999999999\"", "\"\\\"99999999999999999999\"");
  is("0.99999999999999999999", "0.99999999999999999999");
  is("99999999999999999999.5", "99999999999999999999.5");
  is("99999999999999999999e2", "99999999999999999999e2");
  is("1" + std::string(300, '0'), "1" + std::string(300, '0') + ".0");
  is("1e-400", "1e-400");
  EXPECT_FALSE(one("1" + std::string(310, '0')));
  EXPECT_FALSE(one("1e400"));
  EXPECT_FALSE(one("-1e400"));
  // A run of digits across the blocks of the scanner, at every offset.
  for (size_t shift = 0; shift < 130; ++shift) {
    const std::string pad(shift, ' ');
    EXPECT_EQ(one(pad + "18446744073709551616"),
              Slices{"{\"n\":" + pad + "18446744073709551616.0}"});
  }
}

TEST(Payload, RefusesLoneSurrogateEscapes) {
  const auto accepted = [](std::string_view text) {
    return Documents("{\"s\":\"" + std::string(text) + "\"}", PayloadFormat::kJson).has_value();
  };
  EXPECT_TRUE(accepted(R"(\ud83d\ude00)"));
  EXPECT_TRUE(accepted(R"(\uD83D\uDE00\ud7ff\ue000)"));
  EXPECT_TRUE(accepted(R"(\\ud800)"));
  EXPECT_FALSE(accepted(R"(\ud800)"));
  EXPECT_FALSE(accepted(R"(\ude00)"));
  EXPECT_FALSE(accepted(R"(\ud83d\u0041)"));
  EXPECT_FALSE(accepted(R"(\ud83d\ud83d\ude00)"));
  EXPECT_FALSE(accepted(R"(\ud83dx)"));
  EXPECT_FALSE(accepted(R"(\u12g4)"));
  EXPECT_FALSE(accepted(R"(\x41)"));
}

TEST(Payload, SaysWhereTheFaultIs) {
  EXPECT_EQ(MessageOf("[{\"id\": 1},\n  {\"\u00e9\": tru}]", PayloadFormat::kJson),
            "The json payload is malformed: expected a value, found `tru` at line 2 column 9.");
  EXPECT_EQ(
      MessageOf("{}\n{}\n7\n", PayloadFormat::kNdjson),
      "The ndjson payload is malformed: an object is expected, found `7` at line 3 column 1.");
  EXPECT_EQ(MessageOf("{\"id\" 1}", PayloadFormat::kJson),
            "The json payload is malformed: expected `:` after the key at line 1 column 7.");
  const std::string message =
      MessageOf("\"" + std::string(100, 'a') + std::string(100, 'z') + "\"", PayloadFormat::kJson);
  EXPECT_NE(message.find("`\"" + std::string(49, 'a') + "..." + std::string(84, 'z') + "\"`"),
            std::string::npos)
      << message;
}

TEST(Payload, StopsAtTheFirstFailureOfTheSink) {
  int calls = 0;
  const Status status = ForEachDocument("{}{}{}", PayloadFormat::kNdjson, [&](std::string_view) {
    return ++calls == 2 ? Status::Io("full") : Status::Ok();
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(status.message(), "full");
}

// ---- The reference model: a recursive validator, one character at a time ----

class ReferenceParser {
 public:
  static std::optional<Slices> Documents(std::string_view payload, PayloadFormat format) {
    ReferenceParser parser(payload);
    Slices slices;
    const auto object = [&] {
      const size_t start = parser.at_;
      if (parser.Peek() != '{' || !parser.Value(0)) return false;
      slices.emplace_back(payload.substr(start, parser.at_ - start));
      return true;
    };
    parser.Space();
    if (format == PayloadFormat::kNdjson) {
      for (; parser.Peek() != '\0'; parser.Space()) {
        if (!object()) return std::nullopt;
      }
      if (parser.at_ != payload.size()) return std::nullopt;
    } else if (parser.Peek() == '[') {
      ++parser.at_;
      parser.Space();
      for (bool first = true;; first = false) {
        parser.Space();
        if (first && parser.Take(']')) break;
        if (!object()) return std::nullopt;
        parser.Space();
        const char c = parser.Peek();
        ++parser.at_;
        if (c == ']') break;
        if (c != ',') return std::nullopt;
      }
      parser.Space();
      if (parser.at_ != payload.size()) return std::nullopt;
    } else {
      if (!object()) return std::nullopt;
      parser.Space();
      if (parser.at_ != payload.size()) return std::nullopt;
    }
    for (const std::string& slice : slices) {
      if (!simdjson::validate_utf8(slice)) return std::nullopt;
    }
    return slices;
  }

 private:
  explicit ReferenceParser(std::string_view text) : text_(text) {}
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Space() {
    while (Peek() == ' ' || Peek() == '\n' || Peek() == '\t' || Peek() == '\r') ++at_;
  }
  bool Take(char c) { return Peek() == c && ++at_; }

  bool Value(int depth) {
    Space();
    if (Peek() == '{' || Peek() == '[') {
      if (depth == kDepthMax) return false;
      const char close = text_[at_++] == '{' ? '}' : ']';
      Space();
      if (Take(close)) return true;
      do {
        Space();
        if (close == '}') {
          if (!String()) return false;
          Space();
          if (!Take(':')) return false;
        }
        if (!Value(depth + 1)) return false;
        Space();
      } while (Take(','));
      return Take(close);
    }
    if (Peek() == '"') return String();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    }
    return Number();
  }

  bool Digits() {
    if (!std::isdigit(static_cast<unsigned char>(Peek()))) return false;
    while (std::isdigit(static_cast<unsigned char>(Peek()))) ++at_;
    return true;
  }

  bool Number() {
    const size_t start = at_;
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      if (!Digits()) return false;
    }
    return std::isfinite(
        std::strtod(std::string(text_.substr(start, at_ - start)).c_str(), nullptr));
  }

  bool String() {
    if (!Take('"')) return false;
    std::vector<unsigned> units;
    while (!Take('"')) {
      if (at_ == text_.size() || static_cast<unsigned char>(Peek()) < 0x20) return false;
      if (!Take('\\')) {
        units.push_back('x');
        ++at_;
      } else if (Take('u')) {
        unsigned unit = 0;
        for (int i = 0; i < 4; ++i, ++at_) {
          if (!std::isxdigit(static_cast<unsigned char>(Peek()))) return false;
          unit = unit * 16 + static_cast<unsigned>(std::stoi(std::string(1, Peek()), nullptr, 16));
        }
        units.push_back(unit);
      } else {
        if (Peek() == '\0' || std::string_view("\"\\/bfnrt").find(Peek()) == std::string_view::npos)
          return false;
        units.push_back('x');
        ++at_;
      }
    }
    for (size_t i = 0; i < units.size(); ++i) {
      const bool high = units[i] >= 0xd800 && units[i] < 0xdc00;
      if (units[i] >= 0xdc00 && units[i] < 0xe000) return false;
      if (high && (i + 1 == units.size() || units[i + 1] < 0xdc00 || units[i + 1] > 0xdfff))
        return false;
      i += high;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}

  unsigned Below(unsigned end) { return random_() % end; }

  std::string Space() {
    std::string space;
    for (unsigned i = Below(3) == 0 ? Below(6) : 0; i > 0; --i) space += " \n\t\r"[Below(4)];
    return space;
  }
  std::string String() {
    static constexpr std::string_view kPieces[] = {"a",
                                                   "bc",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "\\\"",
                                                   "\\\\",
                                                   "\\n",
                                                   "\u00e9",
                                                   "\U0001f600",
                                                   "\\u0041",
                                                   "\\ud83d\\ude00",
                                                   ",",
                                                   ":",
                                                   "12345678901234567890"};
    std::string text = "\"";
    for (unsigned i = Below(12); i > 0; --i) text += kPieces[Below(std::size(kPieces))];
    return text + '"';
  }
  std::string Value(int depth) {
    switch (Below(depth > 4 ? 4 : 7)) {
      case 0: return String();
      case 1: return std::to_string(static_cast<int>(random_()) / (1 << Below(30)));
      case 2: return Below(2) ? "true" : "null";
      case 3: return "-0.5e1";
      case 4: {
        std::string text = "[" + Space();
        for (unsigned i = Below(4); i > 0; --i)
          text += Value(depth + 1) + (i > 1 ? "," : "") + Space();
        return text + "]";
      }
      default: return Object(depth + 1);
    }
  }
  std::string Object(int depth = 0) {
    std::string text = "{" + Space();
    for (unsigned i = Below(5); i > 0; --i) {
      text += String() + Space() + ":" + Space() + Value(depth) + Space() + (i > 1 ? "," : "");
    }
    return text + "}";
  }
  std::string Payload(PayloadFormat format, Slices* slices) {
    const bool array = format == PayloadFormat::kJson;
    std::string payload = Space();
    if (array) payload += "[" + Space();
    for (unsigned i = Below(6); i > 0; --i) {
      slices->push_back(Object());
      payload += slices->back() + Space();
      if (array && i > 1) payload += "," + Space();
    }
    if (array) payload += "]";
    return payload + Space();
  }
  void Mutate(std::string& text) {
    if (text.empty()) return;
    const size_t at = Below(static_cast<unsigned>(text.size()));
    switch (Below(4)) {
      case 0: text.erase(at, 1 + Below(3)); break;
      case 1: text[at] = "{}[]\",:\\0 \n1x\xff"[Below(14)]; break;
      case 2: text.insert(at, 1, "{}[]\",:\\0e-.d"[Below(13)]); break;
      default: text.resize(at); break;
    }
  }

 private:
  std::mt19937 random_;
};

TEST(Payload, GivesBackTheDocumentsItWasMadeOf) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomJson random(seed);
  for (int round = 0; round < 3000; ++round) {
    for (const PayloadFormat format : {PayloadFormat::kJson, PayloadFormat::kNdjson}) {
      Slices slices;
      const std::string payload = random.Payload(format, &slices);
      ASSERT_EQ(Documents(payload, format), slices) << payload;
    }
  }
}

TEST(Payload, AgreesWithANaiveValidatorOnDamagedText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomJson random(seed);
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    const PayloadFormat format = round % 2 ? PayloadFormat::kJson : PayloadFormat::kNdjson;
    Slices slices;
    std::string payload = random.Payload(format, &slices);
    for (unsigned i = random.Below(3); i > 0; --i) random.Mutate(payload);
    const auto expected = ReferenceParser::Documents(payload, format);
    accepted += expected.has_value();
    ASSERT_EQ(Documents(payload, format), expected) << payload;
  }
  EXPECT_GT(accepted, 1000);
}

// ---- CSV ----

std::string Csv(std::string_view csv, char delimiter = ',') {
  std::string out;
  const Result<uint64_t> count = ConvertCsv(csv, delimiter, [&](std::string_view chunk) {
    out += chunk;
    return Status::Ok();
  });
  if (!count.ok()) {
    EXPECT_EQ(count.status().detail(), "malformed_payload");
    return count.status().message();
  }
  const Result<uint64_t> check = CheckPayload(out, PayloadFormat::kNdjson);
  EXPECT_TRUE(check.ok() && *check == *count) << out;
  return out;
}

TEST(CsvPayload, BecomesOneObjectPerRecord) {
  struct {
    std::string csv;
    char delimiter;
    std::string ndjson;
  } cases[] = {
      {"id:number,title,adult:boolean,note:string\n1,\"Say \"\"hi\"\"\",true,\n2,42,false,x\n", ',',
       "{\"id\":1,\"title\":\"Say \\\"hi\\\"\",\"adult\":true,\"note\":null}\n"
       "{\"id\":2,\"title\":\"42\",\"adult\":false,\"note\":\"x\"}\n"},
      {"a,b\n\"two\nlines\", padded \n", ',', "{\"a\":\"two\\nlines\",\"b\":\" padded \"}\n"},
      {"p:number;q:number\n12.50;1e3\n", ';', "{\"p\":12.5,\"q\":1000.0}\n"},
      {"n:number\n18446744073709551615\n -7 \n+5\n", ',',
       "{\"n\":18446744073709552000.0}\n{\"n\":-7}\n{\"n\":5}\n"},
      {"n:number,b:boolean\n  , \n", ',', "{\"n\":null,\"b\":null}\n"},
      {"a:b,c.d,e:Number,f:number,g:date,h:string:number\n1,2,3,4,5,6\n", ',',
       "{\"a:b\":\"1\",\"c.d\":\"2\",\"e:Number\":\"3\",\"f\":4,\"g:date\":\"5\",\"h:string\":6}"
       "\n"},
      {"id,title", ',', ""},
      {"id,title\n", ',', ""},
      {"\n\n", ',', ""},
      {"id\r\n8\r\n\r\n\"9\"\r\n10", ',', "{\"id\":\"8\"}\n{\"id\":\"9\"}\n{\"id\":\"10\"}\n"},
      {"id\r8\r9", ',', "{\"id\":\"8\"}\n{\"id\":\"9\"}\n"},
      {"id,t\n10,\"not closed\n", ',', "{\"id\":\"10\",\"t\":\"not closed\\n\"}\n"},
      {"id,t\n1,a\"b\"\n2,\"a\"b\n3,\"\"\n", ',',
       "{\"id\":\"1\",\"t\":\"a\\\"b\\\"\"}\n{\"id\":\"2\",\"t\":\"ab\"}\n{\"id\":\"3\",\"t\":null}"
       "\n"},
      {"id,t\n1,", ',', "{\"id\":\"1\",\"t\":null}\n"},
      {"\xef\xbb\xbfid\n1\n", ',', "{\"id\":\"1\"}\n"},
      {"a\tb\nx,y\tz\n", '\t', "{\"a\":\"x,y\",\"b\":\"z\"}\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(Csv(c.csv, c.delimiter), c.ndjson) << c.csv;
}

TEST(CsvPayload, NamesTheLineAndTheColumnOfAFault) {
  EXPECT_EQ(Csv("id,p:number\n1,2\n2,te n\n"),
            "The csv payload is malformed: invalid number `te n` in line 2, column `p`.");
  EXPECT_EQ(Csv("b:boolean\nTRUE\n"),
            "The csv payload is malformed: invalid boolean `TRUE` in line 1, column `b`.");
  EXPECT_EQ(Csv("a,b\n1\n"),
            "The csv payload is malformed: line 1 has 1 fields, and the header has 2.");
  EXPECT_EQ(Csv("a,b\n1,2\n1,2,3\n"),
            "The csv payload is malformed: line 2 has 3 fields, and the header has 2.");
  EXPECT_EQ(Csv("a\n\xff\n"), "The csv payload is malformed: it is not valid UTF-8.");
  for (const char* number :
       {"inf", "nan", "0x10", "1e", "--1", "+-1", "1,000", "1e999", "\u0661"}) {
    EXPECT_NE(Csv("n:number\n\"" + std::string(number) + "\"\n").find("invalid number"),
              std::string::npos)
        << number;
  }
}

TEST(CsvPayload, MayBecomeLongerWithinLimits) {
  constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
  EXPECT_EQ(NdjsonBytesMax(0), kMiB);
  EXPECT_EQ(NdjsonBytesMax(1000), kMiB);
  EXPECT_EQ(NdjsonBytesMax(kMiB), 64 * kMiB);
  EXPECT_EQ(NdjsonBytesMax(16 * kMiB), kGiB);
  EXPECT_EQ(NdjsonBytesMax(100 * kMiB), kGiB);
  EXPECT_EQ(NdjsonBytesMax(kGiB), 10 * kGiB);
}

TEST(CsvPayload, HasAHeaderWithinLimits) {
  const std::string widest(kCsvColumnsMax - 1, ',');
  EXPECT_EQ(Csv(widest), "");
  EXPECT_EQ(Csv(widest + ','),
            "The csv payload is malformed: the header has more than 65535 columns.");
  EXPECT_EQ(Csv(widest + ",\n"),
            "The csv payload is malformed: the header has more than 65535 columns.");
  const std::string longest(kCsvHeaderBytesMax - 2, 'x');
  EXPECT_EQ(Csv("id," + longest), "");
  const std::string refused =
      "The csv payload is malformed: the names of the columns have more than 4194304 bytes "
      "together.";
  EXPECT_EQ(Csv("id," + longest + "x"), refused);
  EXPECT_EQ(Csv("id,\"" + longest + "\"\"\""), refused);
  EXPECT_EQ(Csv("id,a\n1" + std::string(1 << 20, ',')),
            "The csv payload is malformed: line 1 has 1048577 fields, and the header has 2.");
  // A wrong number of fields is reported before wrong types of cells.
  EXPECT_EQ(Csv("n:number\nx,y\n"),
            "The csv payload is malformed: line 1 has 2 fields, and the header has 1.");
}

TEST(CsvPayload, WritesLongCellsInPieces) {
  const std::string cell(1 << 20, '\x01');
  size_t longest = 0;
  std::string lines;
  const auto count = ConvertCsv("id,a\n1,\"" + cell + "\"\n", ',', [&](std::string_view chunk) {
    longest = std::max(longest, chunk.size());
    lines += chunk;
    return Status::Ok();
  });
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 1u);
  EXPECT_LE(longest, size_t{7} * 64 * 1024);
  ASSERT_EQ(lines.size(), cell.size() * 6 + std::string_view("{\"id\":\"1\",\"a\":\"\"}\n").size());
}

TEST(CsvPayload, GivesBackTheCellsItWasMadeOf) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const size_t columns = 1 + random() % 4;
    std::string csv, ndjson;
    for (size_t i = 0; i < columns; ++i) csv += (i ? ";c" : "c") + std::to_string(i);
    for (size_t row = random() % 6; row > 0; --row) {
      csv += random() % 2 ? "\n" : "\r\n";
      for (size_t i = 0; i < columns; ++i) {
        std::string cell;
        for (size_t n = random() % 6; n > 0; --n) cell += "ab;\"\n\r, "[random() % 8];
        const bool quote =
            cell.find_first_of(";\"\n\r") != cell.npos || random() % 3 == 0 || columns == 1;
        if (i) csv += ';';
        if (quote) {
          csv += '"';
          for (const char c : cell) csv += c == '"' ? std::string("\"\"") : std::string(1, c);
          csv += '"';
        } else {
          csv += cell;
        }
        ndjson += (i ? ",\"c" : "{\"c") + std::to_string(i) + "\":";
        if (cell.empty())
          ndjson += "null";
        else
          AppendJsonString(ndjson, cell);
      }
      ndjson += "}\n";
    }
    ASSERT_EQ(Csv(csv, ';'), ndjson) << csv;
  }
}

TEST(CsvPayload, EndsWhenWritingFails) {
  std::string csv = "a\n";
  for (int i = 0; i < 100000; ++i) csv += "some text\n";
  int chunks = 0;
  const Result<uint64_t> count = ConvertCsv(csv, ',', [&](std::string_view chunk) {
    EXPECT_EQ(chunk.back(), '\n');
    EXPECT_LT(chunk.size(), 70000u);
    return ++chunks == 3 ? Status::Io("disk full") : Status::Ok();
  });
  EXPECT_EQ(chunks, 3);
  EXPECT_EQ(count.status().message(), "disk full");
}

}  // namespace
}  // namespace gannet::indexing
