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

// Metadata and tensors in the order given. The tensors' bytes begin at a multiple of 8. REQUIRES: names
// differ; texts are UTF-8; values are as many as the shape says.
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

// InvalidArgument says what is wrong, with the tensor's name, unless the text is whole: a header of the
// promised form, f32 tensors that fill the rest of the text without gap or overlap, and finite values. The
// text must live as long as the result.
absl::StatusOr<Safetensors> ParseSafetensors(std::string_view text);

// "[128, 256]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace winnow::mlp
