// Reads every page of an LMDB file, before LMDB does: LMDB follows what its pages say without
// looking, so that a damaged one ends the process or gives records that were never stored.
//
// Both formats of a data file: 1 (LMDB 0.9) and 2 (the library of lmdb-js). Found is whatever is
// not as LMDB leaves it at a commit: pages beyond the file, reached twice or by no number of
// theirs, nodes beyond or across each other, keys out of order, counts that differ, free pages that
// are in use. Not found is a bit in a value or in a key that keeps its place: for these, values
// carry checksums (store/sealed_value.h).
//
// Source: the layout in mdb.c of both versions. Cost: reads the pages in use once, about 1 GB/s.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gannet::store {

// Of every record; the views are valid during the call. What it returns is told as the fault of the
// file.
using RecordCheck =
    std::function<Status(std::string_view table, std::string_view key, std::string_view value)>;

// REQUIRES: nobody writes the file meanwhile.
// NotFound: there is no such file, or it has no bytes. Corruption: the first fault, with the name
// of the file. Io.
Status CheckPages(const std::string& path, const RecordCheck& on_record = {});

}  // namespace gannet::store
