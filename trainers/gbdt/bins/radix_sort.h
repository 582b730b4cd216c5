#pragma once

#include <cstdint>
#include <vector>

namespace winnow::gbdt {

// Sorts ascending in linear time. `scratch` is resized as needed.
void RadixSort(std::vector<uint32_t>* keys, std::vector<uint32_t>* scratch);

// Sorts ascending by the upper 32 bits, keeping the order of equals.
void RadixSortUpper(std::vector<uint64_t>* keys, std::vector<uint64_t>* scratch);

}  // namespace winnow::gbdt
