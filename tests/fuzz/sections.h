#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "trainers/data/cache/section_writer.h"

namespace winnow::fuzz {

// The sections that an input holds, names and contents by turns, in memory. Null: they could not be made.
inline std::shared_ptr<const MappedFile> SectionsFrom(Input input) {
  SectionWriter writer(nullptr);
  std::vector<std::string> names;
  while (!input.empty()) {
    const std::string name(input.Text());
    const std::string_view content = input.Take(input.Number<uint16_t>());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    if (!writer.AddCopy(name, std::as_bytes(std::span(content))).ok()) return nullptr;
  }
  std::string why_not;
  absl::StatusOr<MappedFile> file = std::move(writer).Finish("", "", &why_not);
  return file.ok() ? std::make_shared<const MappedFile>(*std::move(file)) : nullptr;
}

}  // namespace winnow::fuzz
