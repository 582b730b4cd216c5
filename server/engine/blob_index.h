#pragma once

#include <string>

#include "winnow/v1/artifact.pb.h"

namespace winnow {

// The blobs of an artifact store, as the coordinator needs them: without waiting for the disk. Thread-safe.
class BlobIndex {
 public:
  virtual ~BlobIndex() = default;
  // Whether it is there, with that size. Then it stays until it is forgotten.
  virtual bool Claim(const v1::BlobName& blob) = 0;
  // No artifact is of it any more.
  virtual void Forget(const std::string& digest) = 0;
};

}  // namespace winnow
