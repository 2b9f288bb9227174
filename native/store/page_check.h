// Checks every page of an LMDB file before LMDB reads it. LMDB follows the contents of pages
// without checks, so a damaged page crashes the process or gives records that were never stored.
//
// Both formats of a data file are supported: 1 (LMDB 0.9) and 2 (the library of lmdb-js). The check
// finds every difference from the state that LMDB leaves at a commit: pages beyond the file,
// reached twice or with a wrong number, nodes that overlap or leave their page, keys out of order,
// wrong counts, free pages that are in use. It does not find a changed bit in a value, or in a key
// that stays in order: for these, values carry checksums (store/sealed_value.h).
//
// Source: the layout in mdb.c of both versions. Cost: reads the pages in use once, about 1 GB/s.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gannet::store {

// Called for every record; the views are valid during the call. The status it returns is reported
// as the fault of the file.
using RecordCheck =
    std::function<Status(std::string_view table, std::string_view key, std::string_view value)>;

// REQUIRES: nobody writes the file meanwhile.
// NotFound: the file does not exist, or is empty. Corruption: the first fault, with the name
// of the file. Io: the file could not be read.
Status CheckPages(const std::string& path, const RecordCheck& on_record = {});

}  // namespace gannet::store
