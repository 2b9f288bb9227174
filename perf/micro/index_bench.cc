// What does indexing cost, where do the bytes go, and what does a merge cost?
//
// Indexes NDJSON directly through RunBatch with one worker: in one batch, then in seven batches
// that are merged. Corpus: given on the command line; the reference is 63,436 Debian packages, 55
// MB of NDJSON. CPU time is that of the process, so that other work on the machine does not count.
//
//   index_bench documents.ndjson [primary key] [settings JSON]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "index/index.h"
#include "indexing/job.h"
#include "indexing/merge.h"

namespace {

using namespace gannet;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

// Runs one batch and prints the CPU time of its stages, sampled from its progress.
void Run(index::Index& index, const std::string& steps,
         const std::vector<std::string_view>& payloads, bool print) {
  indexing::Progress progress;
  std::vector<std::pair<std::string, double>> stages;
  std::atomic<bool> done{false};
  const double begin = CpuSeconds();
  std::thread watch([&] {
    while (!done) {
      const std::string name = progress.step().name;
      if (stages.empty() || stages.back().first != name)
        stages.emplace_back(name, CpuSeconds() - begin);
      usleep(1000);
    }
  });
  indexing::JobOptions options;
  options.memory_bytes = uint64_t{1} << 30;
  const std::string job =
      "{\"batchUid\":1,\"taskUids\":[1],\"now\":\"\",\"steps\":[" + steps + "]}";
  const auto outcome = indexing::RunBatch(
      index, *indexing::BatchJob::Parse(job), payloads, options,
      [](const index::Snapshot&, std::string_view) { return DocSet(); }, progress);
  const double end = CpuSeconds() - begin;
  done = true;
  watch.join();
  if (!outcome.ok()) Fail(outcome.status());
  if (!print) return;
  for (size_t i = 0; i < stages.size(); ++i) {
    const double until = i + 1 < stages.size() ? stages[i + 1].second : end;
    std::printf("  %-26s %6.2f s\n", stages[i].first.c_str(), until - stages[i].second);
  }
  std::printf("  %-26s %6.2f s\n", "CPU in all", end);
}

void PrintSizes(const index::Snapshot& snapshot) {
  static const std::map<segment::SectionId, const char*> kNames = {
      {1, "row docids"},     {2, "row offsets"},       {3, "rows"},      {10, "text meta"},
      {11, "terms"},         {12, "posting offsets"},  {13, "postings"}, {14, "forward offsets"},
      {15, "forward index"}, {20, "column directory"}, {21, "columns"}};
  std::map<segment::SectionId, uint64_t> sizes;
  uint64_t total = 0, tokens = 0, words = 0;
  for (const auto& segment : snapshot.segments) {
    const auto& file = segment->rows->file();
    for (const segment::SectionId id : file->sections()) sizes[id] += file->SectionSize(id);
    total += file->size();
    tokens += segment->text->token_count();
    words += segment->text->terms().size();
  }
  for (const auto& [id, size] : sizes) {
    const auto name = kNames.find(id);
    std::printf("  %-26s %10.2f MB\n", name == kNames.end() ? "other" : name->second,
                static_cast<double>(size) / 1e6);
  }
  std::printf("  %-26s %10.2f MB in %zu segments; %llu tokens, %llu words\n", "files",
              static_cast<double>(total) / 1e6, snapshot.segments.size(),
              static_cast<unsigned long long>(tokens), static_cast<unsigned long long>(words));
}

std::string Step(size_t buffer, const std::string& key) {
  return "{\"task\":1,\"kind\":\"documents\",\"method\":\"replace\",\"payload\":{\"buffer\":" +
         std::to_string(buffer) + "},\"format\":\"ndjson\",\"primaryKey\":" + key +
         ",\"skipCreation\":false}";
}

std::shared_ptr<index::Index> OpenFresh(const std::string& path, const char* settings) {
  std::filesystem::remove_all(path);
  auto index = index::Index::Open(path);
  if (!index.ok()) Fail(index.status());
  if (settings != nullptr) {
    Run(**index, "{\"task\":1,\"kind\":\"settings\",\"settings\":" + std::string(settings) + "}",
        {}, false);
  }
  return *index;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: index_bench documents.ndjson [primary key] [settings JSON]\n");
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string key = argc > 2 && *argv[2] ? "\"" + std::string(argv[2]) + "\"" : "null";
  const char* settings = argc > 3 ? argv[3] : nullptr;
  const std::string folder =
      (std::filesystem::temp_directory_path() / "gannet-index-bench").string();

  {
    std::printf("one batch, %.1f MB\n", static_cast<double>(text.size()) / 1e6);
    const auto index = OpenFresh(folder, settings);
    Run(*index, Step(0, key), {text}, true);
    PrintSizes(*index->snapshot());
  }
  {
    std::printf("seven batches\n");
    const auto index = OpenFresh(folder, settings);
    size_t from = 0;
    const double begin = CpuSeconds();
    for (size_t i = 1; i <= 7; ++i) {
      size_t until = text.size() * i / 7;
      while (until < text.size() && text[until - 1] != '\n') ++until;
      Run(*index, Step(0, key), {std::string_view(text).substr(from, until - from)}, false);
      from = until;
    }
    std::printf("  %-26s %6.2f s\n", "CPU in all", CpuSeconds() - begin);
    PrintSizes(*index->snapshot());
    const double merge_begin = CpuSeconds();
    indexing::MergePlan plan;
    for (const auto& segment : index->snapshot()->segments)
      plan.segments.push_back(segment->files.id);
    const std::atomic<bool> cancelled{false};
    const Status status = indexing::RunMerge(*index, plan, cancelled, 0);
    if (!status.ok()) Fail(status);
    std::printf("merged\n  %-26s %6.2f s\n", "CPU", CpuSeconds() - merge_begin);
    PrintSizes(*index->snapshot());
  }
  std::filesystem::remove_all(folder);
  return 0;
}
