#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "server/host/pools/kubernetes/kubernetes_pool.h"
#include "server/host/pools/pool_settings.h"

namespace winnow {

// Reads the object "kubernetes" of a pool's configuration; null: it is absent. Each error names its field.
KubernetesPoolOptions ReadKubernetesSettings(const PoolSettings& settings, const PoolPlace& place,
                                             const nlohmann::json& own, PoolProblems& problems);

// A MakePool. An access that cannot be read is a problem too; a cluster that does not answer is none.
std::unique_ptr<Pool> MakeKubernetesPool(const PoolSettings& settings, const PoolPlace& place,
                                         const nlohmann::json& own, PoolProblems& problems);

}  // namespace winnow
