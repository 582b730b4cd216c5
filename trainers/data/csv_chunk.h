#pragma once

#include <cstddef>
#include <vector>

#include "trainers/data/file_source.h"

namespace winnow {

// A sequence of complete records of one text.
struct CsvChunk {
  const SourceFile* file = nullptr;
  size_t begin = 0, end = 0;  // the bytes in which its records begin
  // For the file's first chunk: the lines before it. Other chunks follow their predecessor.
  int64_t lines_before = 0;
};

// Size of a chunk without longer records: enough work for one thread, and it fits a processor's cache.
constexpr size_t kChunkBytes = 1 << 20;

// Cuts the records from `begin`, the start of one, to the end of the text. Line ends inside quoted fields do
// not separate; from a syntax error on, the rest of that record is in the chunk where it begins. The cuts
// depend on the text alone. Unless `at_end`, the text continues, and what follows the last cut is left out.
std::vector<CsvChunk> CutIntoChunks(const SourceFile& text, char separator, size_t begin, bool at_end,
                                    size_t chunk_bytes = kChunkBytes);

}  // namespace winnow
