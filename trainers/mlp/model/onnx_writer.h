#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow::mlp {

// A protobuf message written field by field in the wire format
// (https://protobuf.dev/programming-guides/encoding).
class ProtoMessage {
 public:
  void Whole(int field, int64_t value);
  void Real(int field, float value);
  void Bytes(int field, std::string_view value);  // for texts and messages too
  void Message(int field, const ProtoMessage& value) { Bytes(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value);

  std::string bytes_;
};

// Writes an ONNX model (onnx.proto of IR version 7) of float tensors, node by node in the order of
// computation.
class OnnxWriter {
 public:
  // Adds a tensor stored in the model.
  void Constant(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values);
  // Declares an input and an output of the model: [rows, columns].
  void Input(const std::string& name, int64_t columns);
  void Output(const std::string& name, int64_t columns);

  struct Attributes {
    std::vector<std::pair<std::string, float>> reals;
    std::vector<std::pair<std::string, int64_t>> wholes;
  };
  // Adds a node with the output `output`; returns its name.
  std::string Node(const char* operation, const std::vector<std::string>& inputs, const std::string& output,
                   const Attributes& attributes = {});

  // Returns the model, for operator set 13.
  std::string Text(const std::vector<std::pair<std::string, std::string>>& metadata) const;

 private:
  ProtoMessage nodes_, constants_, ends_;  // fields of the graph
};

}  // namespace winnow::mlp
