#pragma once

#include <string>

namespace winnow {

// Empty if `server` is HOST:PORT on this machine (127.0.0.0/8, [::1] or localhost); else what is wrong with
// it.
std::string CheckLoopback(const std::string& server);

}  // namespace winnow
