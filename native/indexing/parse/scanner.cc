#include "indexing/parse/scanner.h"

#include <bit>
#include <cstring>
#include <string>

#include "indexing/parse/fault_finder.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gannet::indexing {
namespace {

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

// Whether 19 bits in a row are set in `before` followed by `bits`.
bool HasLongRun(uint64_t before, uint64_t bits) {
  // At least 10 bits of such a run are in one of the two.
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

// Finds the end of the object that starts at `begin`, if there is a valid one. Does not validate
// what is in between.
ObjectScan ScanObject(const char* begin, const char* end) {
  ObjectScan scan;
  uint64_t in_string = 0;      // all ones while a string continues from the preceding block
  uint64_t escaped_carry = 0;  // 1 when the first byte of the block is escaped
  uint64_t digits_before = 0;  // outside of strings, in the preceding block
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

}  // namespace

PayloadScanner::PayloadScanner(std::string_view bytes, PayloadFormat format)
    : format_(format),
      payload_(WithoutByteOrderMark(bytes)),
      at_(payload_.data()),
      end_(payload_.data() + payload_.size()) {}

Result<std::optional<PayloadScanner::Document>> PayloadScanner::Next() {
  if (state_ == State::kStart) {
    SkipSpace();
    if (format_ == PayloadFormat::kJson) {
      if (at_ == end_)
        return FaultHere("an object or an array of objects is expected, and the payload is blank");
      if (*at_ == '[') {
        ++at_;
        SkipSpace();
        state_ = State::kInArray;
        if (at_ != end_ && *at_ == ']') return EndOfArray();
      } else if (*at_ == '{') {
        state_ = State::kSingle;
      } else {
        return FaultHere("an object or an array of objects is expected, found " +
                         QuotedStart(Rest()));
      }
    } else {
      state_ = State::kSequence;
    }
  } else if (state_ == State::kSingle) {
    SkipSpace();
    if (at_ != end_)
      return FaultHere("trailing characters behind the document: " + QuotedStart(Rest()));
    return std::optional<Document>();
  } else if (state_ == State::kInArray) {
    SkipSpace();
    if (at_ == end_) return FaultHere("the array is not closed");
    if (*at_ == ']') return EndOfArray();
    if (*at_ != ',')
      return FaultHere("expected `,` or `]` after a document, found " + QuotedStart(Rest()));
    ++at_;
  }
  SkipSpace();
  if (at_ == end_) {
    if (state_ == State::kInArray) return FaultHere("the array is not closed");
    return std::optional<Document>();
  }
  if (*at_ != '{') return FaultHere("an object is expected, found " + QuotedStart(Rest()));
  Document document;
  document.scan = ScanObject(at_, end_);
  if (document.scan.end == nullptr || document.scan.too_deep) return FaultInside(Rest());
  document.text = {at_, static_cast<size_t>(document.scan.end - at_)};
  at_ = document.scan.end;
  return std::optional<Document>(document);
}

Status PayloadScanner::FaultInside(std::string_view text) const {
  const Fault fault = FindFault(text);
  return MalformedAt(format_, payload_,
                     static_cast<size_t>(text.data() - payload_.data()) + fault.offset,
                     fault.reason);
}

Result<std::optional<PayloadScanner::Document>> PayloadScanner::EndOfArray() {
  ++at_;
  SkipSpace();
  if (at_ != end_) return FaultHere("trailing characters behind the array: " + QuotedStart(Rest()));
  return std::optional<Document>();
}

void PayloadScanner::SkipSpace() {
  while (at_ != end_ && IsSpace(*at_)) ++at_;
}

Status PayloadScanner::FaultHere(std::string_view reason) const {
  return MalformedAt(format_, payload_, static_cast<size_t>(at_ - payload_.data()), reason);
}

}  // namespace gannet::indexing
