#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The code of a training job, as the server's artifact store takes it.
struct ScriptCode {
  v1::Source source;
  std::map<std::string, std::string> blobs;  // by digest

  bool Has(const std::string& path) const;
};

// Unpacks a sourcedir.tar.gz, or another archive of tar. Links and special files are left out.
// ValidationException: it is no such archive, has no file, has a path that leaves its folder, or is too
// large.
absl::StatusOr<ScriptCode> UnpackScriptCode(const std::string& archive);

}  // namespace winnow
