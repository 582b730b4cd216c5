#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Everything that is wrong with the spec, without looking at any file; empty: valid.
std::vector<Violation> CheckSpec(const v1::TuningJobSpec& spec);

// Whether trials are trained on this host, or on others alone.
enum class Training { kHere, kElsewhere };

// Whether the caller may be told what is at an absolute path.
using MayTell = std::function<bool(const std::string& path)>;

// What the spec refers to and is not there on this host: working directory, channels, the command's program,
// tables and studies of a warm start. With kElsewhere, and for an external trainer, nothing is looked for but what
// the server reads itself, for the warm start: the rest is the workers', on hosts of their own. With `may_tell`, what may not be
// told is passed over, and so are tables and studies: who reads them says what is wrong.
// REQUIRES nothing of the spec; relative paths are resolved against its working directory.
std::vector<Violation> CheckFiles(const v1::TuningJobSpec& spec, Training training = Training::kHere,
                                  const MayTell& may_tell = nullptr);

}  // namespace winnow
