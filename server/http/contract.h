#pragma once

#include <google/protobuf/descriptor.h>

#include <string_view>

namespace winnow {

// The files of the contract with their comments, from protoc: a serialized FileDescriptorSet.
std::string_view ContractDescriptors();

// All of them, with comments.
const google::protobuf::DescriptorPool& ContractPool();

}  // namespace winnow
