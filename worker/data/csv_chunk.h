#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/data/file_source.h"

namespace winnow {

// A run of whole records of one file.
struct CsvChunk {
  const SourceFile* file = nullptr;
  size_t begin = 0, end = 0;  // the bytes that its records begin in
  int64_t lines_before =
      0;  // of the file's first chunk: lines in front of it; the others follow their neighbour
};

// What a chunk holds if no record is longer: enough work for one thread, and it stays in a processor's cache.
constexpr size_t kChunkBytes = 2 << 20;

// Cuts the records from `begin`, where one begins behind `lines_before` lines, to the end of the file. Line
// ends inside quoted fields part nothing; where the text is broken, the chunk in which it first is broken
// holds all of that record. Where the cuts are depends on the text alone.
std::vector<CsvChunk> CutIntoChunks(const SourceFile& file, char separator, size_t begin,
                                    int64_t lines_before, size_t chunk_bytes = kChunkBytes);

}  // namespace winnow
