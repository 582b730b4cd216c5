#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::mlp {

// The file format of https://huggingface.co/docs/safetensors: the length of a header in 8 bytes, a JSON
// object with the type, shape and place of each tensor, and the tensors' bytes. Tensors are f32, row-major.

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// Writes metadata and tensors in the given order. The tensors' bytes begin at a multiple of 8. REQUIRES:
// unique names; texts are UTF-8; as many values as the shape says.
std::string SafetensorsText(const std::vector<std::pair<std::string, std::string>>& metadata,
                            const std::vector<Tensor>& tensors);

struct TensorView {
  std::vector<int64_t> shape;
  std::string_view bytes;  // in the text that was parsed, not aligned

  int64_t size() const { return static_cast<int64_t>(bytes.size() / sizeof(float)); }
  float At(int64_t i) const;
};

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, TensorView> tensors;
};

// Parses a complete text: a valid header, f32 tensors that fill the rest of the text without gap or overlap,
// and finite values. Otherwise InvalidArgument names the error and the tensor. The text must outlive the
// result.
absl::StatusOr<Safetensors> ParseSafetensors(std::string_view text);

// "[128, 256]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace winnow::mlp
