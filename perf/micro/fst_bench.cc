// How fast is the term dictionary on a million words? Words: letter by letter from a Markov-like
// model (seed 1), which shares prefixes and suffixes about as natural language does; or the lines
// of the file given as argument. Queries: 1000 dictionary words of 5 to 12 bytes with one random
// typo.
//
//   g++ -std=c++20 -O3 -DNDEBUG -Inative perf/micro/fst_bench.cc native/fst/*.cc -o /tmp/fst_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "fst/builder.h"
#include "fst/fst.h"
#include "fst/levenshtein.h"

namespace {

using Clock = std::chrono::steady_clock;

double MicrosSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::vector<std::string> ReadLines(const char* path) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) words.push_back(line);
  return words;
}

// Stems of 1 to 4 syllables from 90, and one of 12 endings.
std::vector<std::string> MakeWords(size_t count, std::mt19937_64& random) {
  const std::string consonants = "bcdfghjklmnprstvwz", vowels = "aeiou";
  const char* endings[] = {"",    "",     "s",  "ed", "ing", "er",
                           "ers", "tion", "ly", "en", "ung", "ment"};
  std::vector<std::string> words;
  while (words.size() < count) {
    std::string word;
    for (size_t syllables = 2 + random() % 3; syllables > 0; --syllables) {
      word += consonants[std::min(random() % 18, random() % 18)];
      word += vowels[std::min(random() % 5, random() % 5)];
      if (random() % 3 == 0) word += consonants[random() % 18];
    }
    words.push_back(word + endings[random() % 12]);
  }
  return words;
}

void Report(const char* what, std::vector<double>& micros, double matches) {
  std::sort(micros.begin(), micros.end());
  double sum = 0;
  for (const double value : micros) sum += value;
  std::printf("%-34s mean %8.2f us  p50 %8.2f us  p99 %8.2f us  matches %.1f\n", what,
              sum / micros.size(), micros[micros.size() / 2], micros[micros.size() * 99 / 100],
              matches / micros.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937_64 random(1);
  std::vector<std::string> words = argc > 1 ? ReadLines(argv[1]) : MakeWords(2'200'000, random);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size();

  auto start = Clock::now();
  gannet::fst::Builder builder;
  for (const std::string& word : words) builder.Add(word);
  const std::string stored = builder.Finish();
  std::printf("build: %zu words, %.1f MB -> %.2f MB in %.3f s\n", words.size(), bytes / 1e6,
              stored.size() / 1e6, MicrosSince(start) / 1e6);
  const auto fst = gannet::fst::Fst::Open(stored);
  if (!fst.ok()) return 1;
  start = Clock::now();
  if (!fst->Verify().ok()) return 1;
  std::printf("verify: %.1f ms\n", MicrosSince(start) / 1e3);

  uint64_t sum = 0;
  start = Clock::now();
  for (int i = 0; i < 1'000'000; ++i) sum += *fst->Find(words[random() % words.size()]);
  std::printf("find: %.0f ns\n", MicrosSince(start) / 1e3);
  std::string word;
  start = Clock::now();
  for (int i = 0; i < 1'000'000; ++i) {
    fst->Word(static_cast<uint32_t>(random() % words.size()), word);
    sum += word.size();
  }
  std::printf("word of an ordinal: %.0f ns\n", MicrosSince(start) / 1e3);
  start = Clock::now();
  for (auto it = fst->Begin(); it.Valid(); it.Next()) sum += it.word().size();
  std::printf("iterate: %.1f ns per word (%llu)\n", MicrosSince(start) * 1e3 / words.size(),
              static_cast<unsigned long long>(sum));

  std::vector<std::string> queries;
  while (queries.size() < 1000) {
    std::string query = words[random() % words.size()];
    if (query.size() < 5 || query.size() > 12) continue;
    query[random() % query.size()] = static_cast<char>('a' + random() % 26);
    queries.push_back(query);
  }
  const auto measure = [&](const char* what, int distance, bool prefix,
                           gannet::fst::FirstChar first) {
    std::vector<double> micros;
    double matches = 0;
    for (const std::string& query : queries) {
      const auto from = Clock::now();
      Walk(*fst, gannet::fst::FuzzyQuery(query, distance, prefix, first),
           [&](std::string_view, uint32_t, uint8_t) {
             ++matches;
             return true;
           });
      micros.push_back(MicrosSince(from));
    }
    Report(what, micros, matches);
  };
  using gannet::fst::FirstChar;
  measure("distance 1", 1, false, FirstChar::kAny);
  measure("distance 1, same first", 1, false, FirstChar::kSameFirst);
  measure("distance 1, prefix", 1, true, FirstChar::kAny);
  measure("distance 2", 2, false, FirstChar::kAny);
  measure("distance 2, same first or one", 2, false, FirstChar::kSameFirstOrOne);
  measure("distance 2, same first", 2, false, FirstChar::kSameFirst);
  measure("distance 2, prefix", 2, true, FirstChar::kAny);
  measure("distance 2, prefix, first or one", 2, true, FirstChar::kSameFirstOrOne);
  return 0;
}
