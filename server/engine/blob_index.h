#pragma once

#include <string>

#include "winnow/v1/artifact.pb.h"

namespace winnow {

// Which blobs an artifact store has. No method waits for the disk. Thread-safe.
class BlobIndex {
 public:
  virtual ~BlobIndex() = default;
  // Whether the blob is there with that size. If so, it stays until Forget.
  virtual bool Claim(const v1::BlobName& blob) = 0;
  // No artifact has the blob any more.
  virtual void Forget(const std::string& digest) = 0;
};

}  // namespace winnow
