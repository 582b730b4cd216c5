#include "trainers/mlp/model/onnx_writer.h"

#include <bit>

namespace winnow::mlp {
namespace {

enum WireType { kVarint = 0, kDelimited = 2, kFixed32 = 5 };

constexpr int64_t kIrVersion = 7, kOperatorSet = 13;
constexpr int64_t kFloat = 1;  // TensorProto.DataType
constexpr int64_t kRealAttribute = 1, kWholeAttribute = 2;

// Numbers of fields, message by message.
namespace model {
enum { kIrVersion = 1, kProducer = 2, kProducerVersion = 3, kGraph = 7, kOperatorSets = 8, kMetadata = 14 };
}
namespace operator_set {
enum { kVersion = 2 };
}
namespace metadata_entry {
enum { kKey = 1, kValue = 2 };
}
namespace graph {
enum { kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12 };
}
namespace node {
enum { kInput = 1, kOutput = 2, kName = 3, kOperation = 4, kAttribute = 5 };
}
namespace attribute {
enum { kName = 1, kReal = 2, kWhole = 3, kType = 20 };
}
namespace tensor {
enum { kShape = 1, kType = 2, kName = 8, kData = 9 };
}
namespace value_info {
enum { kName = 1, kType = 2 };
}
namespace type {
enum { kTensor = 1, kElement = 1, kShape = 2, kDimension = 1, kSize = 1, kSizeName = 2 };
}

ProtoMessage ValueInfo(const std::string& name, int64_t columns) {
  ProtoMessage rows_size, columns_size, shape, of_tensor, whole_type, info;
  rows_size.Bytes(type::kSizeName, "rows");
  columns_size.Whole(type::kSize, columns);
  shape.Message(type::kDimension, rows_size);
  shape.Message(type::kDimension, columns_size);
  of_tensor.Whole(type::kElement, kFloat);
  of_tensor.Message(type::kShape, shape);
  whole_type.Message(type::kTensor, of_tensor);
  info.Bytes(value_info::kName, name);
  info.Message(value_info::kType, whole_type);
  return info;
}

}  // namespace

void ProtoMessage::Varint(uint64_t value) {
  constexpr int kBits = 7;
  constexpr uint64_t kMore = 1u << kBits;
  for (; value >= kMore; value >>= kBits) bytes_ += static_cast<char>(value | kMore);
  bytes_ += static_cast<char>(value);
}

void ProtoMessage::Whole(int field, int64_t value) {
  Varint(field << 3 | kVarint);
  Varint(static_cast<uint64_t>(value));
}

void ProtoMessage::Real(int field, float value) {
  Varint(field << 3 | kFixed32);
  const auto bits = std::bit_cast<uint32_t>(value);
  bytes_.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

void ProtoMessage::Bytes(int field, std::string_view value) {
  Varint(field << 3 | kDelimited);
  Varint(value.size());
  bytes_ += value;
}

void OnnxWriter::Constant(const std::string& name, const std::vector<int64_t>& shape,
                          const std::vector<float>& values) {
  ProtoMessage message;
  for (int64_t size : shape) message.Whole(tensor::kShape, size);
  message.Whole(tensor::kType, kFloat);
  message.Bytes(tensor::kName, name);
  message.Bytes(tensor::kData, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  constants_.Message(graph::kInitializer, message);
}

void OnnxWriter::Input(const std::string& name, int64_t columns) {
  ends_.Message(graph::kInput, ValueInfo(name, columns));
}

void OnnxWriter::Output(const std::string& name, int64_t columns) {
  ends_.Message(graph::kOutput, ValueInfo(name, columns));
}

std::string OnnxWriter::Node(const char* operation, const std::vector<std::string>& inputs,
                             const std::string& output, const Attributes& attributes) {
  ProtoMessage message;
  for (const std::string& input : inputs) message.Bytes(node::kInput, input);
  message.Bytes(node::kOutput, output);
  message.Bytes(node::kName, output);
  message.Bytes(node::kOperation, operation);
  for (const auto& [name, value] : attributes.reals) {
    ProtoMessage entry;
    entry.Bytes(attribute::kName, name);
    entry.Real(attribute::kReal, value);
    entry.Whole(attribute::kType, kRealAttribute);
    message.Message(node::kAttribute, entry);
  }
  for (const auto& [name, value] : attributes.wholes) {
    ProtoMessage entry;
    entry.Bytes(attribute::kName, name);
    entry.Whole(attribute::kWhole, value);
    entry.Whole(attribute::kType, kWholeAttribute);
    message.Message(node::kAttribute, entry);
  }
  nodes_.Message(graph::kNode, message);
  return output;
}

std::string OnnxWriter::Text(const std::vector<std::pair<std::string, std::string>>& metadata) const {
  ProtoMessage name, operators, message;
  name.Bytes(graph::kName, "winnow-mlp");
  operators.Whole(operator_set::kVersion, kOperatorSet);
  message.Whole(model::kIrVersion, kIrVersion);
  message.Bytes(model::kProducer, "winnow-mlp");
  message.Bytes(model::kProducerVersion, WINNOW_VERSION);
  // A message's bytes are the concatenation of its fields.
  message.Bytes(model::kGraph, nodes_.bytes() + name.bytes() + constants_.bytes() + ends_.bytes());
  message.Message(model::kOperatorSets, operators);
  for (const auto& [key, value] : metadata) {
    ProtoMessage entry;
    entry.Bytes(metadata_entry::kKey, key);
    entry.Bytes(metadata_entry::kValue, value);
    message.Message(model::kMetadata, entry);
  }
  return message.bytes();
}

}  // namespace winnow::mlp
