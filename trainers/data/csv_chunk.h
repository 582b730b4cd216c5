#pragma once

#include <cstddef>
#include <vector>

#include "trainers/data/file_source.h"

namespace winnow {

// A run of whole records of one text.
struct CsvChunk {
  const SourceFile* file = nullptr;
  size_t begin = 0, end = 0;  // the bytes that its records begin in
  int64_t lines_before =
      0;  // of the file's first chunk: lines in front of it; the others follow their neighbour
};

// What a chunk holds if no record is longer: enough work for one thread, and it stays in a processor's cache.
constexpr size_t kChunkBytes = 1 << 20;

// Cuts the records from `begin`, where one begins, to the end of the text. Line ends inside quoted fields
// part nothing; where the text is broken, the chunk in which it first is broken holds all of that record.
// Where the cuts are depends on the text alone. Unless `at_end`, the text goes on, and what is behind the
// last cut is left out.
std::vector<CsvChunk> CutIntoChunks(const SourceFile& text, char separator, size_t begin, bool at_end,
                                    size_t chunk_bytes = kChunkBytes);

}  // namespace winnow
