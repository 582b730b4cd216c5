#include "server/http/contract.h"

#include <google/protobuf/descriptor.pb.h>

#include <cstdlib>

namespace winnow {

namespace pb = google::protobuf;

const pb::DescriptorPool& ContractPool() {
  static const pb::DescriptorPool& kPool = *[] {
    auto* pool = new pb::DescriptorPool;  // never destroyed, like its descriptors
    pb::FileDescriptorSet files;
    const std::string_view bytes = ContractDescriptors();
    if (!files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      std::abort();  // protoc wrote them
    for (const pb::FileDescriptorProto& file : files.file()) {
      if (pool->BuildFile(file) == nullptr) std::abort();  // imports precede the files that import them
    }
    return pool;
  }();
  return kPool;
}

}  // namespace winnow
