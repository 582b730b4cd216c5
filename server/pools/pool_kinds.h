#pragma once

#include <vector>

#include "server/host/pools/pools_file.h"

namespace winnow {

// The kinds of pools that this server knows.
std::vector<PoolKind> PoolKinds();

}  // namespace winnow
