#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/host/pools/pools_file.h"
#include "store/database/database.h"

namespace winnow {

// Why the workers of a pool on other machines would have no address of a server that listens at all addresses
// of its machine, `listen`; "": they have one.
std::string PoolWithoutServer(const std::vector<DeclaredPool>& pools, const std::string& listen);

// Logs the allocations of pools that are not declared any more: nobody asks their engine for them, or gives
// them back.
absl::Status WarnOfOtherPools(Database& database, const std::vector<DeclaredPool>& pools);

}  // namespace winnow
