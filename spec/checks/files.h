#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Whether trials are trained on this host, or only on others.
enum class Training { kHere, kElsewhere };

// Whether the caller may learn what is at an absolute path.
using MayTell = std::function<bool(const std::string& path)>;

// The files of the spec that are missing or unusable on this host: the working directory, channels, the
// command's program, and the tables and studies of a warm start. With kElsewhere and for an external trainer
// only the files of the warm start are checked, which the server reads itself; the others are on the workers'
// hosts. With `may_tell`, paths that it refuses are skipped, and so are tables and studies, whose reader
// reports what is wrong. The spec may be invalid; relative paths are resolved against its working directory.
std::vector<Violation> CheckFiles(const v1::TuningJobSpec& spec, Training training = Training::kHere,
                                  const MayTell& may_tell = nullptr);

}  // namespace winnow
