#pragma once

#include <map>
#include <string>

#include "winnow/v1/worker.pb.h"

namespace winnow {

// Puts the paths of prepared channels (name -> path) into the assignment's environment: SM_CHANNEL_<NAME>,
// and "path" of the channel in SM_INPUT_DATA_CONFIG.
void SetChannelPaths(const std::map<std::string, std::string>& paths, v1::Assignment& assignment);

}  // namespace winnow
