#include "server/http/contract.h"

#include <google/protobuf/descriptor.pb.h>


#include "base/check.h"

namespace winnow {

namespace pb = google::protobuf;

const pb::DescriptorPool& ContractPool() {
  static const pb::DescriptorPool& kPool = *[] {
    auto* pool = new pb::DescriptorPool;  // never destroyed, like its descriptors
    pb::FileDescriptorSet files;
    const std::string_view bytes = ContractDescriptors();
    WINNOW_CHECK(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), "protoc wrote them");
    for (const pb::FileDescriptorProto& file : files.file())
      WINNOW_CHECK(pool->BuildFile(file) != nullptr,
                   "imports precede the files that import them: " + file.name());
    return pool;
  }();
  return kPool;
}

}  // namespace winnow
