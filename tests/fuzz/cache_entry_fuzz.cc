// Entries of the cache of training data, as files. Their checksums, which no change to an input would keep,
// are mended.

#include <cstddef>
#include <span>

#include "tests/fuzz/scratch_file.h"
#include "trainers/data/cache/byte_codec.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/data/cache/checksum.h"
#include "trainers/data/cache/section_writer.h"

namespace {

using namespace winnow;

// Positions of numbers in the header, as in trainers/data/cache/section_writer.cc.
constexpr size_t kSections = 12, kFileSize = 16, kTableOffset = 24, kChecksum = 32, kHeader = 40;

template <typename T>
T NumberAt(const std::string& text, size_t at) {
  T number{};
  std::memcpy(&number, text.data() + at, sizeof number);
  return number;
}

void PutNumber(std::string* text, size_t at, uint64_t number) {
  std::memcpy(text->data() + at, &number, sizeof number);
}

// Corrects all checksums, of sections within the file. Returns the key of the entry.
std::string Mend(std::string* text) {
  if (text->size() < kHeader) return "";
  PutNumber(text, kFileSize, text->size());
  const auto table_offset = NumberAt<uint64_t>(*text, kTableOffset);
  if (table_offset > text->size()) return "";
  const std::string copy = text->substr(table_offset);
  ByteReader table(copy);
  const std::string key(table.Text());
  for (auto left = NumberAt<uint32_t>(*text, kSections); left > 0 && table.ok(); --left) {
    table.Text();
    const uint64_t offset = table.Number(), size = table.Number();
    const size_t at = text->size() - table.rest().size();
    table.Number();
    if (!table.ok() || offset > table_offset || size > table_offset - offset) break;
    PutNumber(text, at, ContentChecksum(std::as_bytes(std::span(*text).subspan(offset, size))));
  }
  PutNumber(text, kChecksum, 0);
  PutNumber(text, kChecksum, StableHash(text->substr(0, kHeader) + text->substr(table_offset)));
  return key;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::ScratchFile file;
  std::string text(reinterpret_cast<const char*>(data), size);
  const std::string key = Mend(&text);
  const absl::StatusOr<MappedFile> entry = OpenMappedFile(file.Hold(text), key);
  if (!entry.ok()) return 0;
  for (const char* name : {"meta", "train.label", "train.by_column", "train.values"}) {
    const std::span<const std::byte> section = entry->Section(name);
    fuzz::Require(ContentChecksum(section) == ContentChecksum(section), "sections can be read");
    fuzz::Require(reinterpret_cast<uintptr_t>(section.data()) % 64 == 0, "sections are aligned");
  }
  return 0;
}
